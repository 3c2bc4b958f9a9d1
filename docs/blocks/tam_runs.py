"""Our TAM beside the paper's: the presets `best`, `paper` and `quick`, levers, times, and the map of z."""

from collections.abc import Iterator, Mapping
from statistics import fmean

from blocks.results import Results
from blocks.words import NOT_RUN, is_better, mean_score, signed_difference, table
from tam.report.collect import ABLATIONS, BENCHMARK_TITLES, Facts, estimates_of, time_to_quality_rows
from tam.report.compare import Estimate
from tam.report.words import (
    UNIT,
    as_printed,
    bare_score,
    in_prose,
    k_heads,
    number,
    score_words,
    seconds_words,
    span,
)


def best(results: Results, ceiling: bool = False) -> str:
    """Table of the preset `best`, the paper's TAM and the best of the paper's methods."""
    rows: list[list[str]] = []
    for name in BENCHMARK_TITLES:
        rows += _beside_the_paper(results, name, ceiling)
    shown = table(["", "", "training", *k_heads(results.shots)], rows, left=(0, 1))
    found = [run for name in BENCHMARK_TITLES for run in results.headline(name)]
    return f"{shown}\n\n{_about_best(results, found) if found else NOT_RUN}"


def _beside_the_paper(results: Results, name: str, ceiling: bool) -> Iterator[list[str]]:
    """The rows of one benchmark."""
    metric, paper = results.metric(name), results.paper_rows(name)["tam"]
    printed = [
        f"{as_printed(metric, mean)} ± {as_printed(metric, error)}{UNIT[metric]}"
        for mean, error in zip(paper["mean"], paper["error"], strict=True)
    ]
    hours = results.paper["hours"][name]
    yield [f"{BENCHMARK_TITLES[name]}, {metric}", "the paper's TAM", f"{hours:g} h", *printed]
    top = results.paper_best(name)
    yield ["", "the paper's best", "", *(score_words(metric, top[k]) for k in results.shots)]
    runs = results.headline(name)
    ours = estimates_of(runs, metric)
    cells = [_marked(results, name, k, ours.get(k)) for k in results.shots]
    yield ["", "ours", seconds_words([run["gpu_seconds"] for run in runs]), *cells]
    if ceiling:
        most = results.ceiling(name)
        yield ["", "ceiling", "", *(score_words(metric, most[k]) for k in results.shots)]


def _marked(results: Results, name: str, k: int, ours: Estimate | None) -> str:
    """Our score at one k: bold if better than all of the paper's methods, italic if better than its TAM."""
    if ours is None:
        return "–"
    metric = results.metric(name)
    shown = f"{mean_score(metric, ours)}{UNIT[metric]}"
    if is_better(metric, ours.mean, results.paper_best(name)[k]):
        return f"**{shown}**"
    return f"*{shown}*" if is_better(metric, ours.mean, results.paper_scores(name)["tam"][k]) else shown


def _about_best(results: Results, found: list[Facts]) -> str:
    """A caption: the number of runs behind each mean, and of cells that are better than the paper's."""
    marks = [
        _marked(results, name, k, ours)
        for name in BENCHMARK_TITLES
        for k, ours in estimates_of(results.headline(name), results.metric(name)).items()
    ]
    than_all = sum(mark.startswith("**") for mark in marks)
    than_tam = sum(mark.startswith("*") for mark in marks)
    trials = {len(results.headline(name)) for name in BENCHMARK_TITLES} - {0}
    return (
        f"Ours: mean ± standard deviation over {_or(trials)} initialisations; training time on one "
        f"{_or({run['device'] for run in found})}, without compilation and validation. "
        f"Bold: better than every method of the paper ({than_all} of {len(marks)} cells); "
        f"bold or italic: better than the paper's TAM ({than_tam} of {len(marks)}).{_time_to_paper(results)}"
    )


def _time_to_paper(results: Results) -> str:
    """A sentence on the time until TAM is as good as the paper's, unless a benchmark has none."""
    runs = [run for name in BENCHMARK_TITLES for run in results.runs_of(f"tam-time-{name}")]
    reached = [run["seconds_to_paper"] for run in runs]
    if None in reached or len(reached) < len(BENCHMARK_TITLES):
        return ""
    return (
        " With fewer steps, ours validates as well as the paper's TAM at k = 5, 10 and 20 after "
        f"{in_prose([f'{seconds:.0f}' for seconds in reached])} seconds, from the start of the process."
    )


def _or(values: set[int] | set[str]) -> str:
    return " or ".join(map(str, sorted(values)))


def intervals(results: Results) -> str:
    """The 95 % intervals over test tasks, for one run of `best`."""
    parts = []
    for name, title in BENCHMARK_TITLES.items():
        metric = results.metric(name)
        found: dict[int, list[float]] = {}
        for run in results.headline(name):
            for one in run["scores"]:
                if one[f"{metric}_interval"] is not None:
                    found.setdefault(one["k"], []).append(one[f"{metric}_interval"])
        if found:
            widths = [f"± {bare_score(metric, fmean(found[k]))}" for k in results.shots if k in found]
            parts.append(f"{title.lower()} {', '.join(widths)}{UNIT[metric]}")
    return f"{'; '.join(parts)} at k = {in_prose(list(map(str, results.shots)))}." if parts else NOT_RUN


def reproduction(results: Results) -> str:
    """Table of the preset `paper`, with the difference from the paper's TAM."""
    rows, short = [], []
    for name, run in results.reproductions.items():
        title, metric, theirs = (
            BENCHMARK_TITLES[name],
            results.metric(name),
            results.paper_scores(name)["tam"],
        )
        _, *row = _differences(run, metric, theirs)
        rows.append([f"{title}, {metric}", number(run["steps"]), seconds_words([run["gpu_seconds"]]), *row])
        ours = _means(run, metric)
        worse = [str(k) for k in results.shots if is_better(metric, theirs[k], ours[k])]
        short += [f"{title.lower()} at k = {in_prose(worse)}"] if worse else []
    if not rows:
        return NOT_RUN
    head = ["", "outer steps", "GPU alone", *k_heads(results.shots)]
    where = f"It falls short on {in_prose(short)}." if short else "It is never worse."
    return f"{table(head, rows)}\n\nIn brackets: the difference from the paper's TAM. {where}"


def _differences(run: Facts, metric: str, before: Mapping[int, float]) -> list[str]:
    """The steps of a run, and its scores with their differences from others."""
    scores = (
        f"{score_words(metric, after)} ({signed_difference(metric, after, before[k])})"
        for k, after in _means(run, metric).items()
    )
    return [number(run["steps"]), *scores]


def _means(run: Facts, metric: str) -> dict[int, float]:
    return {k: one.mean for k, one in estimates_of([run], metric).items()}


def learning_curves(results: Results) -> str:
    """The figure of validations of the preset `paper`."""
    if not results.reproductions:
        return NOT_RUN
    return (
        "![Validation scores of the preset paper against outer steps, one line for each k, with the paper's "
        "TAM dotted.](figures/learning.svg)"
    )


def levers(results: Results) -> str:
    """Tables of `best` and of runs with one lever moved, for the same GPU-seconds."""
    parts = []
    for name, title in BENCHMARK_TITLES.items():
        base, moved = next(iter(results.short(name)), None), results.moved_levers(name)
        if base is not None and moved:
            metric = results.metric(name)
            before = _means(base, metric)
            rows = [["`best`", number(base["steps"]), *(score_words(metric, one) for one in before.values())]]
            rows += [[words, *_differences(run, metric, before)] for words, (run, *_) in moved.items()]
            parts.append(table([f"{title}, {metric}", "outer steps", *k_heads(results.shots)], rows))
    return "\n\n".join(parts) or NOT_RUN


def ablations(results: Results) -> str:
    """Tables of the paper's ablations, on classification: ours, and in brackets the paper's."""
    parts = []
    for title, rows_of in ABLATIONS.items():
        rows = []
        for name, (runs_of, backbone, method) in rows_of.items():
            runs = results.runs_of(f"{runs_of}-classification")
            ours = estimates_of(runs, "accuracy")
            printed = zip(results.shots, results.paper["ablations"][backbone][method], strict=True)
            cells = (
                f"{mean_score('accuracy', ours[k]) if k in ours else '–'}\u00a0({100 * theirs:.0f})"
                for k, theirs in printed
            )
            rows.append([name, span([run["steps"] for run in runs]) if runs else "–", *cells])
        parts.append(table([f"{title}, % right", "outer steps", *k_heads(results.shots)], rows))
    return "\n\n".join(parts)


def quick(results: Results) -> str:
    """The scores of the preset `quick` as trained by `make run`."""
    run = results.runs.get("tam-quick-classification-0")
    if run is None:
        return NOT_RUN
    ours = _means(run, "accuracy").items()
    cells = ", ".join(f"{score_words('accuracy', value)} at k = {k}" for k, value in ours)
    return (
        f"Classification after {number(run['steps'])} outer steps, "
        f"{seconds_words([run['wall_seconds']])} from start to result on {run['device']}: {cells}."
    )


def on_a_cpu(results: Results) -> str:
    """Table of the preset `quick` and of runs with one change."""
    base, changed = results.quick(), results.changed_on_a_cpu()
    if not (base and changed):
        return NOT_RUN
    before = estimates_of(base, "accuracy")
    shown = (f"{mean_score('accuracy', one)}{UNIT['accuracy']}" for one in before.values())
    rows = [[f"`quick`, {len(base)} initialisations", number(base[0]["steps"]), *shown]]
    means = {k: one.mean for k, one in before.items()}
    rows += [[title, *_differences(run, "accuracy", means)] for title, (run, *_) in changed.items()]
    return table(["Classification, accuracy", "outer steps", *k_heads(results.shots)], rows)


def time_to_quality(results: Results) -> str:
    """Table of the time until TAM is as good as the paper's, and of an outer step of `best`."""
    head, rows = time_to_quality_rows(results)
    for row in rows:
        row[2] = f"**{row[2]}**" if row[2].endswith(" s") else row[2]
    return table(head, rows) if rows else NOT_RUN


def embedding_map(results: Results) -> str:
    """TAM's map, and how well a linear map reads the grid off it."""
    facts = results.embeddings["tam"]
    first, second = facts["explained_variance"]
    trained = sum(point["trained"] for point in facts["points"])
    return (
        "![Task embeddings on two principal components, each marked with the row, and with the column, "
        "of its task's end.](figures/embeddings.svg)\n\n"
        f"The paper's Figure 1: path-finding from (4,4) to each of the other {len(facts['points'])} "
        f"cells. Each task was learned from {facts['shots']} examples by the pretrained model, whose "
        f"training had {trained} of them. The first two principal components of z explain {first:.0%} "
        f"and {second:.0%} of its variance. A linear map of all {facts['numbers']} components of z, "
        f"fitted to other tasks, predicts the row of the end with R² = {facts['r2']['row']:.2f} and its "
        f"column with R² = {facts['r2']['column']:.2f}."
    )
