"""Learning curves: validation scores against outer steps, beside the paper's."""

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.ticker import MaxNLocator

from blocks.results import BENCHMARKS
from drawings.canvas import BLUE, GREEN, INK, MUTED, ORANGE, PURPLE, Canvas, log_scale
from tam.tasks.task import metric_of

_LEFTS = (66.0, 380.0, 694.0)
_COLOURS = (PURPLE, ORANGE, GREEN, BLUE)
_LEGEND: dict[str, Any] = {
    "frameon": False,
    "fontsize": 8,
    "ncols": 4,
    "loc": "lower left",
    "bbox_to_anchor": (-0.04, 0.97),
    "labelcolor": INK,
    "handlelength": 1.2,
    "columnspacing": 0.9,
}


def draw(runs: Mapping[str, Mapping[str, Any]], goals: Mapping[str, Mapping[int, float]]) -> Canvas:
    """A panel for each benchmark, a line for each k; dashed, what the paper's TAM reaches.

    Args:
        runs: Results of `tam.experiments` by benchmark, with their `curve`.
        goals: The paper's scores by benchmark and k.
    """
    canvas = Canvas(960, 360)
    canvas.text(24, 28, "The paper's settings: validation against outer steps", size=15, bold=True)
    canvas.text(24, 50, "dashed: the paper's TAM on its test tasks", size=11, colour=MUTED)
    for left, (name, run) in zip(_LEFTS, runs.items(), strict=False):
        metric = metric_of(run["kind"])
        scale, label = (100, "accuracy, %") if metric == "accuracy" else (1, "perplexity")
        axes = canvas.panel(left, 100, 238, 200, f"{BENCHMARKS[name]}: outer steps", label)
        if metric == "perplexity":
            log_scale(axes, (1, 1.2, 1.5, 2, 3, 5))
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        steps = [point["step"] for point in run["curve"]]
        for colour, (k, goal) in zip(_COLOURS, goals[name].items(), strict=False):
            scores = [point["scores"][str(k)][metric] for point in run["curve"]]
            values = [math.nan if score is None else scale * score for score in scores]
            axes.plot(steps, values, color=colour, linewidth=1.4, label=f"k = {k}")
            axes.axhline(scale * goal, color=colour, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.legend(**_LEGEND)
    return canvas
