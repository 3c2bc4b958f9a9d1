"""Tables of the published results: ours beside the paper's."""

from collections.abc import Mapping, Sequence

from tam.experiments.jobs import stem
from tam.report.collect import (
    BENCHMARKS,
    LEVERS,
    ROWS,
    Facts,
    Results,
    estimates_of,
    time_to_quality_rows,
)
from tam.report.compare import Estimate
from tam.report.curve import TITLES
from tam.report.on_a_cpu import changed_runs, quick_runs
from tam.report.page.html import Markup, html_table, join, tag
from tam.report.page.scores import cell, chip, estimate_words
from tam.report.words import SCALE, UNIT, capitalised, k_heads, number, score_words, seconds_words, span

ABLATIONS = {
    "Where the task embedding enters": {
        "Input token": ("tam-token-ablation", "transformer", "tam"),
        "Adapters": ("tam-adapter-ablation", "adapter", "tam"),
        "Layer norm": ("tam-norm-ablation", "norm", "tam"),
    },
    "LSTM and transformer": {
        "LSTM, multitask": ("multitask-lstm-architecture", "lstm", "multitask"),
        "LSTM, TAM": ("tam-lstm-architecture", "lstm", "tam"),
        "Transformer, multitask": ("multitask-table1", "transformer", "multitask"),
        "Transformer, TAM": ("tam-token-ablation", "transformer", "tam"),
    },
}
"""For each row of a table: the stem of our runs, and the keys of the paper's numbers in paper.json."""


def methods_table(results: Results, group: str, name: str) -> Markup:
    """One of the paper's tables on one benchmark, with every method that has the paper's numbers or ours."""
    compositional = group == "table2"
    metric, paper = results.metric(name), results.paper_estimates(name, compositional)
    rows = []
    for what, title, in_paper in ROWS[group]:
        runs, theirs = results.runs_of(stem(what, group, name)), paper.get(in_paper or "", {})
        if runs or theirs:
            ours = estimates_of(runs, metric)
            cells = [cell(metric, ours.get(k), theirs.get(k)) for k in results.shots]
            rows.append([title, *cells, _effort(runs)])
    ceiling = results.ceiling(name, compositional)
    rows.append(["Ceiling", *(score_words(metric, ceiling[k]) for k in results.shots), ""])
    head = [f"{metric}{UNIT[metric] and ', %'}", *k_heads(results.shots), "training"]
    return html_table(head, rows, f"{BENCHMARKS[name]}: every method, ours and the paper's")


def _effort(runs: Sequence[Facts]) -> Markup | str:
    """The training steps and GPU-seconds of a row, and its number of runs."""
    if not runs:
        return "–"
    trials = max(one.runs for one in estimates_of(runs, "accuracy").values())
    count = f"{trials} run{'s' if trials > 1 else ''}{' for each k' if len(runs) > trials else ''}"
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
    for name, title in BENCHMARKS.items():
        metric, runs = results.metric(name), results.runs_of(f"tam-paper-{name}")
        ours, theirs = estimates_of(runs, metric), results.paper_estimates(name)["tam"]
        cells = (cell(metric, ours.get(k), theirs[k]) for k in results.shots)
        rows.append([f"{title}, {metric}", *cells, _effort(runs)])
    head = ["", *k_heads(results.shots), "training"]
    return html_table(head, rows, "The paper's settings, ours and the paper's")


def levers_table(results: Results, name: str) -> Markup | None:
    """The preset `best` beside runs with one lever moved; None without such runs."""
    metric, base = results.metric(name), results.headline(name)
    before = estimates_of(base, metric)
    rows = []
    for lever, words in LEVERS.items():
        for moved in ("without", "with"):
            runs = results.runs_of(f"tam-{moved}-{lever}-{name}")
            after = estimates_of(runs, metric)
            if runs and before:
                cells = (cell(metric, after.get(k), before.get(k), "best") for k in results.shots)
                rows.append([f"{moved} {words}", *cells, _effort(runs)])
    if not rows:
        return None
    first = ["the preset best", *(cell(metric, before.get(k)) for k in results.shots), _effort(base)]
    head = [f"{BENCHMARKS[name]}, {metric}", *k_heads(results.shots), "training"]
    return html_table(head, [first, *rows], f"{BENCHMARKS[name]}: what each lever gives")


def ablation_table(results: Results, title: str) -> Markup:
    """One of the paper's ablations, on classification."""
    rows = []
    for name, (runs_of, backbone, method) in ABLATIONS[title].items():
        runs = results.runs_of(f"{runs_of}-classification")
        ours, theirs = estimates_of(runs, "accuracy"), results.paper["ablations"][backbone][method]
        pairs = zip(results.shots, theirs, strict=True)
        cells = (cell("accuracy", ours.get(k), Estimate(value, None, 0)) for k, value in pairs)
        rows.append([name, *cells, _effort(runs)])
    head = ["Classification, accuracy, %", *k_heads(results.shots), "training"]
    return html_table(head, rows, f"{title}: accuracy")


def cpu_table(results: Results) -> Markup | None:
    """The preset `quick` beside runs with one change; None without such runs."""
    base, changed = quick_runs(results), changed_runs(results)
    if not (base and changed):
        return None
    before = estimates_of(base, "accuracy")
    rows = [["the preset quick", *(cell("accuracy", before.get(k)) for k in results.shots), _effort(base)]]
    for title, run in changed.items():
        after = estimates_of([run], "accuracy")
        cells = (cell("accuracy", after.get(k), before.get(k), "quick") for k in results.shots)
        rows.append([title, *cells, _effort([run])])
    head = ["Classification, accuracy, %", *k_heads(results.shots), "training"]
    return html_table(head, rows, "The preset quick with one thing changed")


def timing_table(results: Results) -> Markup:
    """The paper's table of times: time to the best validated model, and its quality, means over k."""
    rows = []
    for method, paper in results.paper["timing"].items():
        cells = [_timing_cell(results, method, name, paper[name]) for name in BENCHMARKS]
        rows.append([capitalised(TITLES[method]), *cells])
    heads = [f"{title}, {results.metric(name)}" for name, title in BENCHMARKS.items()]
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
