"""Our TAM beside the paper's: the presets `best`, `paper` and `quick`, and the effect of each lever."""

import math
from collections.abc import Iterator
from statistics import fmean

from blocks.results import BENCHMARKS, LEVERS, Facts, Results
from blocks.table import table
from blocks.words import is_better, mean_score, signed_difference
from tam.report.on_a_cpu import changed_runs, quick_runs
from tam.report.words import (
    UNIT,
    as_printed,
    bare_score,
    in_prose,
    k_heads,
    number,
    score_words,
    seconds_words,
)

NOT_RUN = "Not run yet."


def best(results: Results, ceiling: bool = False) -> str:
    """Table of the preset `best`, the paper's TAM and the best of the paper's methods."""
    rows: list[list[str]] = []
    for name in BENCHMARKS:
        rows += _beside_the_paper(results, name, ceiling)
    shown = table(["", "", "training", *k_heads(results.shots)], rows, left=(0, 1))
    found = [run for name in BENCHMARKS for run in results.runs_of(f"tam-best-{name}")]
    return f"{shown}\n\n{_about_best(results, found) if found else NOT_RUN}"


def _beside_the_paper(results: Results, name: str, ceiling: bool) -> Iterator[list[str]]:
    """The rows of one benchmark."""
    metric, paper = results.metric(name), results.paper_rows(name)["tam"]
    printed = [
        f"{as_printed(metric, mean)} ± {as_printed(metric, error)}{UNIT[metric]}"
        for mean, error in zip(paper["mean"], paper["error"], strict=True)
    ]
    hours = results.paper["hours"][name]
    yield [f"{BENCHMARKS[name]}, {metric}", "the paper's TAM", f"{hours:g} h", *printed]
    top = results.paper_best(name)
    yield ["", "the paper's best", "", *(score_words(metric, top[k]) for k in results.shots)]
    runs, ours = results.runs_of(f"tam-best-{name}"), results.scores(f"tam-best-{name}", metric)
    cells = [_marked(results, name, k, ours.get(k, [])) for k in results.shots]
    yield ["", "ours", seconds_words([run["gpu_seconds"] for run in runs]), *cells]
    if ceiling:
        most = results.task_set(name)["ceiling"]
        yield ["", "ceiling", "", *(score_words(metric, most[str(k)]) for k in results.shots)]


def _marked(results: Results, name: str, k: int, values: list[float]) -> str:
    """Our score at one k: bold if better than all of the paper's methods, italic if better than its TAM."""
    metric = results.metric(name)
    if not values:
        return "–"
    shown, mean = f"{mean_score(metric, values)}{UNIT[metric]}", fmean(values)
    if is_better(metric, mean, results.paper_best(name)[k]):
        return f"**{shown}**"
    return f"*{shown}*" if is_better(metric, mean, results.paper_scores(name)["tam"][k]) else shown


def _about_best(results: Results, found: list[Facts]) -> str:
    """A caption: the number of runs behind each mean, and of cells that are better than the paper's."""
    cells = [
        (name, k, fmean(values))
        for name in BENCHMARKS
        for k, values in results.scores(f"tam-best-{name}", results.metric(name)).items()
    ]
    than_tam = [is_better(results.metric(n), v, results.paper_scores(n)["tam"][k]) for n, k, v in cells]
    than_all = [is_better(results.metric(n), v, results.paper_best(n)[k]) for n, k, v in cells]
    trials = {len(results.runs_of(f"tam-best-{name}")) for name in BENCHMARKS} - {0}
    return (
        f"Ours: mean ± standard deviation over {_or(trials)} initialisations; training time on one "
        f"{_or({run['device'] for run in found})}, without compilation and validation. "
        f"Bold: better than every method of the paper ({sum(than_all)} of {len(cells)} cells); "
        f"bold or italic: better than the paper's TAM ({sum(than_tam)} of {len(cells)})."
    )


def _or(values: set[int] | set[str]) -> str:
    return " or ".join(map(str, sorted(values)))


def intervals(results: Results) -> str:
    """The 95 % intervals over test tasks, for one run of `best`."""
    parts = []
    for name, title in BENCHMARKS.items():
        metric = results.metric(name)
        found: dict[int, list[float]] = {}
        for run in results.runs_of(f"tam-best-{name}"):
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
    for name, title in BENCHMARKS.items():
        metric, theirs = results.metric(name), results.paper_scores(name)["tam"]
        for run in results.runs_of(f"tam-paper-{name}"):
            ours = _scores(run, metric)
            cells = [
                f"{score_words(metric, ours[k])} ({signed_difference(metric, ours[k], theirs[k])})"
                for k in results.shots
            ]
            rows.append(
                [f"{title}, {metric}", number(run["steps"]), seconds_words([run["gpu_seconds"]]), *cells]
            )
            worse = [k for k in results.shots if is_better(metric, theirs[k], ours[k])]
            short += [f"{title.lower()} at k = {in_prose(list(map(str, worse)))}"] if worse else []
    if not rows:
        return NOT_RUN
    head = ["", "outer steps", "GPU alone", *k_heads(results.shots)]
    where = f"It falls short on {in_prose(short)}." if short else "It is never worse."
    return f"{table(head, rows)}\n\nIn brackets: the difference from the paper's TAM. {where}"


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
    for name, title in BENCHMARKS.items():
        base = results.runs.get(f"tam-best-{name}-0")
        rows = [] if base is None else list(_lever_rows(results, name, base))
        if base is not None and rows:
            metric = results.metric(name)
            ours = _scores(base, metric)
            first = ["`best`", number(base["steps"]), *(score_words(metric, ours[k]) for k in results.shots)]
            head = [f"{title}, {metric}", "outer steps", *k_heads(results.shots)]
            parts.append(table(head, [first, *rows]))
    return "\n\n".join(parts) or NOT_RUN


def _lever_rows(results: Results, name: str, base: Facts) -> Iterator[list[str]]:
    metric = results.metric(name)
    before = _scores(base, metric)
    for lever, words in LEVERS.items():
        for moved in ("without", "with"):
            run = results.runs.get(f"tam-{moved}-{lever}-{name}-0")
            if run is not None:
                after = _scores(run, metric)
                cells = (
                    f"{score_words(metric, after[k])} ({signed_difference(metric, after[k], before[k])})"
                    for k in results.shots
                )
                yield [f"{moved} {words}", number(run["steps"]), *cells]


def quick(results: Results) -> str:
    """The scores of the preset `quick` as trained by `make run`."""
    run = results.runs.get("tam-quick-classification-0")
    if run is None:
        return NOT_RUN
    ours = _scores(run, "accuracy")
    cells = ", ".join(f"{score_words('accuracy', ours[k])} at k = {k}" for k in results.shots)
    return (
        f"Classification after {number(run['steps'])} outer steps, "
        f"{seconds_words([run['wall_seconds']])} from start to result on {run['device']}: {cells}."
    )


def on_a_cpu(results: Results) -> str:
    """Table of the preset `quick` and of runs with one change."""
    base, changed = results.scores("tam-quick-classification", "accuracy"), changed_runs(results)
    if not (base and changed):
        return NOT_RUN
    seeds = len(quick_runs(results))
    shown = (f"{mean_score('accuracy', base[k])}{UNIT['accuracy']}" for k in results.shots)
    rows = [[f"`quick`, {seeds} initialisations", number(quick_runs(results)[0]["steps"]), *shown]]
    for title, run in changed.items():
        after = _scores(run, "accuracy")
        cells = (
            f"{score_words('accuracy', after[k])} ({signed_difference('accuracy', after[k], fmean(base[k]))})"
            for k in results.shots
        )
        rows.append([title, number(run["steps"]), *cells])
    return table(["Classification, accuracy", "outer steps", *k_heads(results.shots)], rows)


def _scores(run: Facts, metric: str) -> dict[int, float]:
    return {one["k"]: math.inf if one[metric] is None else one[metric] for one in run["scores"]}
