"""The picture of a run: its score against k, beside the paper's and the ceiling."""

import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

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
"""What methods are called where people read: first the paper's, in the order of its tables."""


def reference(name: str, method: str, *, compositional: bool) -> dict[str, dict[int, float]]:
    """What to compare a method with on a benchmark, for each k: the paper's numbers of it, and the ceiling.

    The paper's are left out where it has none. For tasks that are no benchmark's there is nothing.
    """
    facts = json.loads(files("tam.report").joinpath("reference.json").read_text(encoding="utf-8"))
    found = facts.get(f"{name} compositional" if compositional else name)
    if found is None:
        return {}
    rows = {CEILING: found["ceiling"]}
    if method in found["paper"]:
        word, *more = method.split()
        rows = {" ".join(["the paper's", TITLES[word], *more]): found["paper"][method]} | rows
    return {row: {int(k): value for k, value in values.items()} for row, values in rows.items()}


def rows_of(result: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    """A run's scores and what to compare them with, in the headline metric, for each k."""
    metric = metric_of(result)
    ours = {score["k"]: infinite_if_none(score[metric]) for score in result["scores"]}
    options = result["tasks"]
    compositional = bool(options.get("compositional"))
    untold = compositional and result["config"]["network"]["use_primitives"] is False
    method = f"{result['method']} without primitives" if untold else result["method"]
    known = reference(str(options.get("name", "")), method, compositional=compositional)
    return {OURS: ours} | known


def metric_of(result: Mapping[str, Any]) -> str:
    """The headline metric: accuracy for classification, perplexity for sequences."""
    return "accuracy" if result["kind"] == "classification" else "perplexity"


def score_table(result: Mapping[str, Any]) -> str:
    """Scores with 95 % intervals over tasks (of several runs: their spread), and what to compare with."""
    metric = metric_of(result)
    shots = [score["k"] for score in result["scores"]]
    shown = [_with_interval(metric, score) for score in result["scores"]]
    trials = result["scores"][0].get("trials")
    lines: list[Sequence[object]] = [[f"{trials} runs" if trials else OURS, *shown]]
    for name, values in rows_of(result).items():
        if name != OURS:
            lines.append([name, *(_number(metric, values[k]) if k in values else "–" for k in shots)])
    return table([f"{metric} at k =", *map(str, shots)], lines)


def _with_interval(metric: str, score: Mapping[str, Any]) -> str:
    width = score[f"{metric}_interval"]
    return _number(metric, infinite_if_none(score[metric])) + (
        "" if width is None else f" ± {_number(metric, width)}"
    )


def _number(metric: str, value: float) -> str:
    if math.isinf(value):
        return "infinite"
    return f"{100 * value:.1f} %" if metric == "accuracy" else f"{value:.2f}"


def draw(result: Mapping[str, Any], path: Path) -> list[Path]:
    """Draw score against k, as SVG and PNG beside each other; returns the files."""
    from matplotlib.figure import Figure

    metric = metric_of(result)
    figure = Figure(figsize=(6.4, 4.0), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    looks = {OURS: ("#1d4ed8", "-", 3), CEILING: ("#059669", ":", 1)}
    for name, values in rows_of(result).items():
        colour, line, order = looks.get(name, ("#6b7280", "--", 2))  # the paper's
        scale = 100 if metric == "accuracy" else 1
        shown = {k: scale * value for k, value in sorted(values.items()) if k > 0 and math.isfinite(value)}
        axes.plot(
            list(shown),
            list(shown.values()),
            line,
            color=colour,
            marker="o",
            label=name,
            zorder=order,
        )
    axes.set_xscale("log")
    ticks = sorted({k for values in rows_of(result).values() for k in values if k > 0})
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.minorticks_off()
    per_class = " per class" if metric == "accuracy" else ""
    axes.set_xlabel(f"k, examples of the new task{per_class}")
    axes.set_ylabel("accuracy, %" if metric == "accuracy" else "perplexity")
    axes.set_title(f"{result['tasks'].get('name', 'your tasks')}: learning a new task from k examples")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    written = [path.with_suffix(suffix) for suffix in (".svg", ".png")]
    for file in written:
        with replacing(file) as temporary:
            figure.savefig(temporary, dpi=150, format=file.suffix[1:])
    return written
