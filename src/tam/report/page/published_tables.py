"""Tables of the published results: ours beside the paper's."""

from collections.abc import Mapping, Sequence

from tam.errors import counted
from tam.experiments.jobs import stem
from tam.report.collect import (
    ABLATIONS,
    BENCHMARK_TITLES,
    ROWS,
    Facts,
    Results,
    estimates_of,
    time_to_quality_rows,
)
from tam.report.compare import Estimate
from tam.report.curve import TITLES
from tam.report.page.html import Markup, html_table, join, tag
from tam.report.page.scores import cell, chip, estimate_words
from tam.report.words import SCALE, UNIT, capitalised, k_heads, number, score_words, seconds_words, span


def methods_table(results: Results, group: str, name: str) -> Markup:
    """One of the paper's tables on one benchmark, with every method that has the paper's numbers or ours."""
    compositional = group == "table2"
    metric, paper = results.metric(name), results.paper_estimates(name, compositional)
    rows = []
    for what, title, in_paper in ROWS[group]:
        runs, theirs = results.runs_of(stem(what, group, name)), paper.get(in_paper or "", {})
        if runs or theirs:
            rows.append(_row(results, title, metric, runs, theirs))
    ceiling = results.ceiling(name, compositional)
    rows.append(["Ceiling", *(score_words(metric, ceiling[k]) for k in results.shots), ""])
    return _table(results, name, rows, f"{BENCHMARK_TITLES[name]}: every method, ours and the paper's")


def _row(
    results: Results,
    title: str,
    metric: str,
    runs: Sequence[Facts],
    theirs: Mapping[int, Estimate] | None = None,
    whose: str = "paper",
) -> list[str]:
    """The scores of runs at each k beside other scores, and the training of the runs."""
    ours, theirs = estimates_of(runs, metric), theirs or {}
    cells = (cell(metric, ours.get(k), theirs.get(k), whose) for k in results.shots)
    return [title, *cells, _effort(runs)]


def _table(results: Results, name: str | None, rows: Sequence[Sequence[str]], label: str) -> Markup:
    """A table of such rows, on one benchmark or on all."""
    metric = "" if name is None else results.metric(name)
    first = "" if name is None else f"{BENCHMARK_TITLES[name]}, {metric}{UNIT[metric] and ', %'}"
    return html_table([first, *k_heads(results.shots), "training"], rows, label)


def _effort(runs: Sequence[Facts]) -> Markup | str:
    """The training steps and GPU-seconds of a row, and its number of runs."""
    if not runs:
        return "–"
    trials = max(one.runs for one in estimates_of(runs, "accuracy").values())
    count = f"{counted(trials, 'run')}{' for each k' if len(runs) > trials else ''}"
    steps = [run["steps"] for run in runs]
    lines = [f"{span(steps)} steps" if any(steps) else "no training"]
    if any(run["gpu_seconds"] for run in runs):
        lines.append(f"{seconds_words([run['gpu_seconds'] for run in runs])} on a GPU")
    return tag("span", *(tag("span", line, class_="theirs") for line in [*lines, count]), class_="cell")


def reproduction_table(results: Results) -> Markup | None:
    """The preset `paper` beside the paper's TAM; None without runs."""
    if not results.reproductions:
        return None
    rows = []
    for name, title in BENCHMARK_TITLES.items():
        metric, theirs = results.metric(name), results.paper_estimates(name)["tam"]
        runs = results.runs_of(f"tam-paper-{name}")
        rows.append(_row(results, f"{title}, {metric}", metric, runs, theirs))
    return _table(results, None, rows, "The paper's settings, ours and the paper's")


def levers_table(results: Results, name: str) -> Markup | None:
    """Our best settings beside runs with one lever moved, for the same seconds; None without such runs."""
    label = f"{BENCHMARK_TITLES[name]}: what each lever gives"
    return _changes(results, "best", name, results.short(name), results.moved_levers(name), label)


def cpu_table(results: Results) -> Markup | None:
    """The preset `quick` beside runs with one change; None without such runs."""
    label = "The preset quick with one thing changed"
    return _changes(results, "quick", "classification", results.quick(), results.changed_on_a_cpu(), label)


def _changes(
    results: Results,
    preset: str,
    name: str,
    base: Sequence[Facts],
    changed: Mapping[str, Sequence[Facts]],
    label: str,
) -> Markup | None:
    """A preset beside runs with one change."""
    if not (base and changed):
        return None
    metric = results.metric(name)
    before, rows = estimates_of(base, metric), [_row(results, f"the preset {preset}", metric, base)]
    rows += [_row(results, title, metric, runs, before, preset) for title, runs in changed.items()]
    return _table(results, name, rows, label)


def ablation_table(results: Results, title: str) -> Markup:
    """One of the paper's ablations, on classification."""
    rows = []
    for name, (runs_of, backbone, method) in ABLATIONS[title].items():
        printed = results.paper["ablations"][backbone][method]
        theirs = {k: Estimate(value, None, 0) for k, value in zip(results.shots, printed, strict=True)}
        runs = results.runs_of(f"{runs_of}-classification")
        rows.append(_row(results, name, "accuracy", runs, theirs))
    return _table(results, "classification", rows, f"{title}: accuracy")


def timing_table(results: Results) -> Markup:
    """The paper's table of times: time to the best validated model, and its quality, means over k."""
    rows = []
    for method, paper in results.paper["timing"].items():
        cells = [_timing_cell(results, method, name, paper[name]) for name in BENCHMARK_TITLES]
        rows.append([capitalised(TITLES[method]), *cells])
    heads = [f"{title}, {results.metric(name)}" for name, title in BENCHMARK_TITLES.items()]
    return html_table(["", *heads], rows, "Time to the best validated model, and the quality there")


def _timing_cell(results: Results, method: str, name: str, paper: Mapping[str, float]) -> Markup:
    metric, row = results.metric(name), results.timing.get((method, name))
    theirs = Estimate(paper["score"] / SCALE[metric], None, 0)
    ours = None if row is None else Estimate(row.quality, None, row.seeds)
    time = "" if row is None else f", {seconds_words([row.seconds])}"
    shown = tag("b", "–") if ours is None else join([estimate_words(metric, ours), tag("b", time)])
    their_time = f"paper {paper['score']:g}, {_hours(paper['minutes'])}"
    parts = [shown, tag("span", their_time, class_="theirs"), chip(metric, ours, theirs)]
    return tag("span", *parts, class_="cell")


def _hours(minutes: float) -> str:
    return f"{minutes:g} min" if minutes < 60 else f"{minutes / 60:.2g} h"


def time_to_quality_table(results: Results) -> Markup | None:
    """Seconds from process start until TAM validates as well as the paper's; None without runs."""
    rows = time_to_quality_rows(results)
    return html_table(*rows, "Seconds until validation is as good as the paper's TAM") if rows[1] else None


def runs_table(results: Results) -> Markup:
    """A row for each run behind the page."""
    rows = []
    for name, run in sorted(results.runs.items()):
        facts = (number(run["steps"]), seconds_words([run["gpu_seconds"]]), run["device"])
        rows.append([name, *facts, run["finished"][:10], run["commit"] or "–", run["code"] or "–"])
    head = ["run", "outer steps", "GPU alone", "device", "finished", "commit", "code"]
    return html_table(head, rows, "All runs behind this page")
