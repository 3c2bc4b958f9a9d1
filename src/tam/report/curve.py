"""The scores of a run against k, beside the paper's and the ceiling: a table and a picture."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tam.experiments.reference import reference
from tam.io import infinite_if_none, replacing
from tam.report.table import table

OURS, CEILING = "this run", "ceiling"

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
"""The methods' names in prose: first the paper's, in the order of its tables."""


def rows_of(result: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    """A run's scores in the headline metric for each k, and those of the paper and the ceiling if known."""
    metric, tasks, method = metric_of(result), result["tasks"], result["method"]
    rows = {OURS: {score["k"]: infinite_if_none(score[metric]) for score in result["scores"]}}
    name, title = tasks.get("name"), TITLES.get(method)
    if tasks.get("compositional"):
        name = f"{name} compositional"
        if result["config"]["network"]["use_primitives"] is False:
            method, title = f"{method} without primitives", f"{title} without primitives"
    known = reference().get(str(name))
    if known is not None:
        if method in known["paper"]:
            rows[f"the paper's {title}"] = _by_shots(known["paper"][method])
        rows[CEILING] = _by_shots(known["ceiling"])
    return rows


def _by_shots(values: Mapping[str, float]) -> dict[int, float]:
    return {int(k): value for k, value in values.items()}


def metric_of(result: Mapping[str, Any]) -> str:
    """The headline metric: accuracy for classification, perplexity for sequences."""
    return "accuracy" if result["kind"] == "classification" else "perplexity"


def score_table(result: Mapping[str, Any]) -> str:
    """Scores with 95 % intervals over tasks (for several runs, their spread), beside the paper's."""
    metric, scores = metric_of(result), result["scores"]
    _, *others = rows_of(result).items()
    trials = scores[0].get("trials")
    lines = [[f"{trials} runs" if trials else OURS, *(_with_interval(metric, score) for score in scores)]]
    for name, values in others:
        cells = (_number(metric, values[score["k"]]) if score["k"] in values else "–" for score in scores)
        lines.append([name, *cells])
    return table([f"{metric} at k =", *(str(score["k"]) for score in scores)], lines)


def _with_interval(metric: str, score: Mapping[str, Any]) -> str:
    width = score[f"{metric}_interval"]
    shown = _number(metric, infinite_if_none(score[metric]))
    return shown if width is None else f"{shown} ± {_number(metric, width)}"


def _number(metric: str, value: float) -> str:
    if math.isinf(value):
        return "infinite"
    return f"{100 * value:.1f} %" if metric == "accuracy" else f"{value:.2f}"


def draw(result: Mapping[str, Any], path: Path) -> list[Path]:
    """Draw score against k as SVG and PNG; returns the two files."""
    from matplotlib.figure import Figure

    rows, in_percent = rows_of(result), metric_of(result) == "accuracy"
    figure = Figure(figsize=(6.4, 4.0), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    looks = {OURS: ("#1d4ed8", "-", 3), CEILING: ("#059669", ":", 1)}
    scale = 100 if in_percent else 1
    for name, values in rows.items():
        colour, line, order = looks.get(name, ("#6b7280", "--", 2))
        shown = {k: scale * value for k, value in sorted(values.items()) if k > 0 and math.isfinite(value)}
        axes.plot(list(shown), list(shown.values()), line, color=colour, marker="o", label=name, zorder=order)
    axes.set_xscale("log")
    ticks = sorted({k for values in rows.values() for k in values if k > 0})
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.minorticks_off()
    axes.set_xlabel(f"k, examples of the new task{' per class' if in_percent else ''}")
    axes.set_ylabel("accuracy, %" if in_percent else "perplexity")
    axes.set_title(f"{result['tasks'].get('name', 'your tasks')}: learning a new task from k examples")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    written = [path.with_suffix(suffix) for suffix in (".svg", ".png")]
    for file in written:
        with replacing(file) as temporary:
            figure.savefig(temporary, dpi=150, format=file.suffix[1:])
    return written
