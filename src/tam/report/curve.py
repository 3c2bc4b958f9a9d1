"""Scores of a run against k, beside the paper's and the ceiling, as a table and as a plot."""

import math
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from tam.experiments.reference import reference
from tam.io import infinite_if_none, replacing
from tam.report.table import table
from tam.report.words import SCALE, score_words
from tam.tasks.task import metric_of

OURS, CEILING, FLOOR = "this run", "ceiling", "best floor"

TITLES = {
    "agnostic": "task-agnostic",
    "multitask": "multitask",
    "matching": "matching networks",
    "snail": "SNAIL",
    "maml": "MAML",
    "cavia": "CAVIA",
    "tam": "TAM",
    "prototypical": "prototypical networks",
    "nearest": "nearest neighbour",
}
"""The titles of the methods: first the paper's, in the order of its tables."""


def rows_of(result: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    """The scores for each k, in the main metric, of a run and, if known, of the paper and the ceiling."""
    metric, tasks, method = metric_of(result["kind"]), result["tasks"], result["method"]
    rows = {OURS: {score["k"]: infinite_if_none(score[metric]) for score in result["scores"]}}
    name, title = tasks.get("name"), TITLES.get(method)
    if tasks.get("compositional"):
        name = f"{name} compositional"
        if result["config"]["network"]["use_primitives"] is False:
            method, title = f"{method} without primitives", f"{title} without primitives"
    if known := reference().get(str(name)):
        others = {f"the paper's {title}": known["paper"].get(method, {}), CEILING: known["ceiling"]}
        rows |= {other: {int(k): value for k, value in row.items()} for other, row in others.items() if row}
    return rows


def score_table(result: Mapping[str, Any]) -> str:
    """Scores with 95 % intervals over tasks (for several runs, their spread), beside the paper's and floors.

    Sequences have a table of perplexities and one of exact matches; each test split has tables of its own.
    """
    floors: Mapping[str, Any] = result.get("floors", {})
    metric, scores = metric_of(result["kind"]), result["scores"]
    _, *others = rows_of(result).items()
    name = f"{scores[0]['trials']} runs" if "trials" in scores[0] else OURS
    parts = {"": (scores, next(iter(floors.values())) if len(floors) == 1 else {})}
    if splits := result.get("splits"):
        parts = {"all test tasks": parts[""]} | {s: (splits[s], floors.get(s, {})) for s in splits}
    metrics = [metric] if metric == "accuracy" or not floors else [metric, "accuracy"]
    blocks: list[str] = []
    for title, (ours, known) in parts.items():
        for shown in metrics:
            lines = [[name, *(_with_interval(shown, score) for score in ours)]]
            if shown == metric and title in ("", "all test tasks"):
                for other, values in others:
                    cells = (_number(metric, values[one["k"]]) if one["k"] in values else "–" for one in ours)
                    lines.append([other, *cells])
            for floor, rows in known.items():
                lines.append([floor, *(_with_interval(shown, score) for score in rows)])
            called = "exact match" if metric != "accuracy" and shown == "accuracy" else shown
            head = [f"{called} at k =", *(str(score["k"]) for score in ours)]
            blocks.append(f"{title}\n{table(head, lines)}".lstrip("\n"))
    return "\n\n".join([*blocks, *_verdicts(result)])


def _verdicts(result: Mapping[str, Any]) -> list[str]:
    """For each test split, a line that says at which k the accuracy is clearly above all floors."""
    lines: list[str] = []
    for split, gains in result.get("gains", {}).items():
        where = f"{split}: " if len(result["gains"]) > 1 else ""
        words = []
        for one in gains:
            interval = "" if one["interval"] is None else f" ± {100 * one['interval']:.1f}"
            words.append(f"k = {one['k']}: {100 * one['difference']:+.1f}{interval} % against {one['floor']}")
        verdict = "the model is better than every floor"
        if short := [one for one in gains if one["difference"] <= (one["interval"] or 0.0)]:
            ks = ", ".join(str(one["k"]) for one in short)
            floors = ", ".join(dict.fromkeys(one["floor"] for one in short))
            verdict = (
                f"at k = {ks} the model is not clearly better than {floors}, which needs no training: train "
                f"longer, on more tasks{_alternative(result, floors)}"
            )
        lines.append(f"{where}{verdict} ({'; '.join(words)})")
    return ["\n".join(lines)] if lines else []


def _alternative(result: Mapping[str, Any], floors: str) -> str:
    """Suggest another method: the floor itself, or one that does well with little data."""
    if "nearest neighbour" in floors and result["method"] != "nearest":
        return ", or with --method nearest"
    is_option = result["kind"] == "classification" and result["method"] != "prototypical"
    return ", or with --method prototypical" if is_option else ", or answer by that rule"


def _with_interval(metric: str, score: Mapping[str, Any]) -> str:
    width = score[f"{metric}_interval"]
    shown = _number(metric, infinite_if_none(score[metric]))
    return shown if width is None else f"{shown} ± {_number(metric, width)}"


def _number(metric: str, value: float) -> str:
    return "infinite" if math.isinf(value) else score_words(metric, value)


def best_floor(result: Mapping[str, Any]) -> dict[int, float]:
    """The best score of any floor at each k, if there is a single test split."""
    metric, by_split = metric_of(result["kind"]), list(result.get("floors", {}).values())
    found: dict[int, list[float]] = {}
    for one in chain(*by_split[0].values()) if len(by_split) == 1 else ():
        found.setdefault(one["k"], []).append(infinite_if_none(one[metric]))
    return {k: max(values) if metric == "accuracy" else min(values) for k, values in found.items()}


def draw_scores(result: Mapping[str, Any], path: Path) -> list[Path]:
    """Plot scores against k as SVG and PNG, and return the two files."""
    from matplotlib.figure import Figure

    rows, metric = rows_of(result) | {FLOOR: best_floor(result)}, metric_of(result["kind"])
    figure = Figure(figsize=(6.4, 4.0), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    looks = {OURS: ("#1d4ed8", "-", 3), CEILING: ("#059669", ":", 1), FLOOR: ("#b45309", ":", 1)}
    for name, values in rows.items():
        if values:
            colour, line, order = looks.get(name, ("#6b7280", "--", 2))
            ks = sorted(k for k, value in values.items() if k > 0 and math.isfinite(value))
            ys = [SCALE[metric] * values[k] for k in ks]
            axes.plot(ks, ys, line, color=colour, marker="o", label=name, zorder=order)
    axes.set_xscale("log")
    ticks = sorted({k for values in rows.values() for k in values if k > 0})
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.minorticks_off()
    axes.set_xlabel(f"k, examples of the new task{' per class' if metric == 'accuracy' else ''}")
    axes.set_ylabel("accuracy, %" if metric == "accuracy" else "perplexity")
    axes.set_title(f"{result['tasks'].get('name', 'your tasks')}: learning a new task from k examples")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    written = [path.with_suffix(suffix) for suffix in (".svg", ".png")]
    for file in written:
        with replacing(file) as temporary:
            figure.savefig(temporary, dpi=150, format=file.suffix[1:])
    return written
