"""The page of published results: the paper's tables and figures, with ours beside them."""

from collections import Counter
from collections.abc import Sequence

from tam import __version__
from tam.experiments.jobs import MAPPED
from tam.report.collect import ABLATIONS, BENCHMARK_TITLES, SWEEPS, Results, reproduce_command
from tam.report.compare import VERDICTS, Verdict
from tam.report.page import published_figures, published_tables
from tam.report.page.html import Markup, figures, made_by, missing, page, paragraph, section, tag
from tam.report.page.scores import CSS_CLASSES, SIGNS, legend
from tam.report.words import in_prose


def published_page(results: Results) -> str:
    """The whole page."""
    parts = {
        "quality": ("Quality", _quality(results)),
        "table1": ("Table 1", _methods(results, "table1", "Table 1: all methods")),
        "table2": ("Table 2", _methods(results, "table2", "Table 2: compositional tasks")),
        "reproduction": ("The paper's settings", _reproduction(results)),
        "learning": ("Learning curves", _learning(results)),
        "seconds": ("Seconds", _seconds(results)),
        "levers": ("Levers", _levers(results)),
        "ablations": ("Ablations", _ablations(results)),
        "sweeps": ("T and N", _sweeps(results)),
        "cpu": ("On a CPU", _on_a_cpu(results)),
        "timing": ("Time", _timing(results)),
        "embeddings": ("Task embeddings", _embeddings(results)),
        "runs": ("All runs", _runs(results)),
    }
    links = [tag("a", words, href=f"#{anchor}") for anchor, (words, _) in parts.items()]
    lead = paragraph(
        "Every table and figure of ",
        tag("a", results.paper["title"], href=results.paper["url"]),
        ", with our numbers beside the paper's. Accuracy: higher is better; perplexity: lower is better.",
        class_="lead",
    )
    title = tag("h1", "Few-shot sequence learning: the paper and ours")
    header = tag("header", title, lead, _tiles(results), tag("nav", *links, aria_label="Contents"))
    footer = f"Made by tam {__version__} from {len(results.runs)} runs."
    return page("tam: the paper and ours", header, [part for _, part in parts.values()], footer)


def _tiles(results: Results) -> Markup:
    """Tiles that count the cells that are better than the paper's, within error, and worse."""
    shown: dict[str, list[Verdict]] = {
        "TAM with our settings, against the paper's TAM": results.headline_verdicts(),
        "Table 1, every method against the paper's": [each for *_, each in results.verdicts("table1")],
        "Table 2, every method against the paper's": [each for *_, each in results.verdicts("table2")],
    }
    return tag("div", *(_tile(words, verdicts) for words, verdicts in shown.items()), class_="tiles")


def _tile(words: str, verdicts: Sequence[Verdict]) -> Markup:
    counts = Counter(verdicts)
    run = len(verdicts) - counts["missing"]
    seen: list[Verdict] = [each for each in VERDICTS if counts[each]]
    signs = SIGNS | {"missing": ""}  # "– 32 missing" would read as a negative number
    parts = [f"{signs[each]} {counts[each]} {each}".strip() for each in seen]
    bars = [
        tag("i", class_=CSS_CLASSES[each], style=f"flex: {counts[each]}", title=f"{counts[each]} {each}")
        for each in seen
    ]
    return tag(
        "div",
        tag("b", f"{counts['better']} of {run} better" if run else "Not run yet"),
        tag("div", *bars, class_="split", aria_hidden="true"),
        tag("span", ", ".join(parts)),
        tag("br"),
        tag("span", words),
        class_="tile",
    )


def _made(group: str, only: str | None = None) -> Markup:
    return made_by(reproduce_command(group, only))


def _charts(charts: Sequence[Markup | None], otherwise: str) -> Markup:
    """The charts that could be drawn, or a note if there are none."""
    drawn = [one for one in charts if one]
    return figures(*drawn) if drawn else missing(otherwise)


def _quality(results: Results) -> Markup:
    words = (
        "TAM with our settings (the preset best), beside the paper's TAM, the paper's best method at each k, "
        "and the ceiling: the score of an exact learner that knows the distribution of tasks. "
        "Bars are standard deviations over initialisations."
    )
    charts = published_figures.quality_charts(results)
    return section("quality", "A new task from k examples", paragraph(words), charts, _made("best"))


def _methods(results: Results, group: str, title: str) -> Markup:
    words = {
        "table1": "Each cell: our score, the paper's below it, and how they compare. ± is the standard "
        "deviation over runs; in brackets, for a single run, half of the 95 % interval over its test tasks. "
        "Matching networks and SNAIL train a model for each k.",
        "table2": "Each new task has one primitive never seen in training. Errors are over hold-outs.",
    }
    charts = [published_figures.methods_chart(results, group, name) for name in BENCHMARK_TITLES]
    parts = [paragraph(words[group]), legend()]
    parts += [figures(*filter(None, charts))] if any(charts) else []
    for name, benchmark in BENCHMARK_TITLES.items():
        parts += [tag("h3", benchmark), published_tables.methods_table(results, group, name)]
        parts.append(_made(group, f"*-{name}-*"))
    return section(group, title, *parts)


def _reproduction(results: Results) -> Markup:
    words = (
        "The preset paper: Algorithm 1 as printed, T = 25, N = 300, one task token; one initialisation per "
        "benchmark."
    )
    found = published_tables.reproduction_table(results)
    shown = found or missing("No run of the paper's settings is finished.")
    return section("reproduction", "The paper's settings", paragraph(words), shown, _made("reproduction"))


def _learning(results: Results) -> Markup:
    words = (
        "Validation against outer steps; dotted: the score of the paper's TAM on its test tasks. A band is "
        "the standard deviation over initialisations."
    )
    parts = [paragraph(words)]
    for title, group, stem in (
        ("Our settings", "best", "tam-best"),
        ("The paper's settings", "reproduction", "tam-paper"),
    ):
        runs_of = {name: results.runs_of(f"{stem}-{name}") for name in BENCHMARK_TITLES}
        charts = [
            published_figures.learning(results, runs, name)
            for name, runs in runs_of.items()
            if any(run["curve"] for run in runs)
        ]
        parts += [tag("h3", title), _charts(charts, "There is no finished run."), _made(group)]
    return section("learning", "Learning curves", *parts)


def _seconds(results: Results) -> Markup:
    words = (
        f"Validation at k = {published_figures.TIMED_K} against seconds of training, alone on the GPU, "
        "without compilation and validation; one line per method that was run."
    )
    charts = [published_figures.seconds(results, name) for name in BENCHMARK_TITLES]
    shown = _charts(charts, "No timed run is finished.")
    title = "Quality against seconds of training"
    return section("seconds", title, paragraph(words), shown, _made("table1"))


def _levers(results: Results) -> Markup:
    words = (
        "Our settings with one lever moved, for the same GPU-seconds: undone, or added if the preset best "
        "does not use it."
    )
    found = list(filter(None, (published_tables.levers_table(results, name) for name in BENCHMARK_TITLES)))
    shown = [legend("the preset best"), *found]
    shown = shown if found else [missing("No run with a lever moved is finished.")]
    return section("levers", "What each lever gives", paragraph(words), *shown, _made("levers"))


def _ablations(results: Results) -> Markup:
    parts = [paragraph("The paper reports no errors here, so “within error” means within our error.")]
    for title, group in zip(ABLATIONS, ("ablation", "architecture"), strict=True):
        parts += [tag("h3", title), published_tables.ablation_table(results, title), _made(group)]
    return section("ablations", "Ablations", *parts)


def _sweeps(results: Results) -> Markup:
    words = (
        "Our settings with one number changed, for the same GPU-seconds: T, the inner steps; N, the examples "
        "per task in a step; or the number of training tasks."
    )
    charts = [
        published_figures.sweep(results, runs, name, axis)
        for what, (axis, _) in SWEEPS.items()
        for name in BENCHMARK_TITLES
        if len(runs := results.sweep(name, what)) > 1
    ]
    shown = _charts(charts, "No run of the sweeps is finished.")
    return section("sweeps", "Inner steps, examples, tasks", paragraph(words), shown, _made("sweeps"))


def _on_a_cpu(results: Results) -> Markup:
    words = (
        "The same questions at the size of the preset quick, 2 layers of width 64 and minutes on a CPU: one "
        "change and one initialisation each, TAM always with the same number of outer steps."
    )
    found = published_tables.cpu_table(results)
    shown = [legend("the preset quick"), found] if found else [missing("No such run is finished.")]
    title = "Ablations and sweeps on a CPU"
    return section("cpu", title, paragraph(words), *shown, _made("cpu"))


def _timing(results: Results) -> Markup:
    words = (
        "The paper's table: the test score of the model that validated best, and the seconds of training "
        "up to that model, alone on the GPU and without compilation and validation; both averaged over k."
    )
    return section(
        "timing",
        "Time",
        paragraph(words),
        published_tables.timing_table(results),
        _made("timing"),
        tag("h3", "Until it is as good as the paper's TAM"),
        paragraph("Seconds from the start of the process until validation is as good at k = 5, 10 and 20."),
        published_tables.time_to_quality_table(results) or missing("No timed run is finished."),
        _made("time"),
    )


def _embeddings(results: Results) -> Markup:
    words = (
        "The first two principal components of task embeddings: path-finding tasks that start at (4,4), "
        "each learned from 20 examples. Number and colour: the row, or the column, of the end. R²: "
        "how well a linear map of the embedding predicts it on held-out tasks."
    )
    parts = [paragraph(words)]
    for method in MAPPED:
        facts = results.embeddings.get(method)
        if facts is None:
            parts.append(missing(f"There is no map for {method} yet."))
            continue
        first, second = facts["explained_variance"]
        note = f"The two components explain {first:.0%} and {second:.0%} of the variance"
        charts = (published_figures.embedding_chart(facts, part) for part in ("row", "column"))
        parts += [figures(*charts), paragraph(f"{note} (run {facts['name']}).", class_="note")]
    return section("embeddings", "The map of task embeddings", *parts, _made("embeddings"))


def _runs(results: Results) -> Markup:
    counts = Counter(run["group"] for run in results.runs.values())
    words = in_prose([f"{count} of {group}" for group, count in counts.items()]) if counts else "none yet"
    text = f"The page is made from {len(results.runs)} finished runs: {words}. Repeat a run by its name:"
    if not results.runs:
        return section("runs", "All runs", paragraph(text), made_by("tam report"))
    name = min(results.runs)
    made = made_by(reproduce_command(results.runs[name]["group"], name), "tam report")
    listed = tag("details", tag("summary", "List of runs"), published_tables.runs_table(results))
    return section("runs", "All runs", paragraph(text), made, listed)
