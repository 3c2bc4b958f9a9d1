"""The figure of learning curves: validation scores against outer steps, beside the paper's."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tam.report.canvas import BLUE, GREEN, INK, MUTED, ORANGE, PURPLE, RULE, Canvas
from tam.report.curve import metric_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {"classification": "Classification", "transduction": "Transduction", "pathfinding": "Path-finding"}
_WIDTH, _HEIGHT = 960.0, 360.0
_PANEL_WIDTH, _PANEL_HEIGHT = 238.0, 200.0
_LEFTS, _TOP = (66.0, 380.0, 694.0), 100.0
_COLOURS = (PURPLE, ORANGE, GREEN, BLUE)


def draw(runs: Mapping[str, Mapping[str, Any]], goals: Mapping[str, Mapping[int, float]]) -> Canvas:
    """A panel for each benchmark, a line for each k; dashed, what the paper's TAM reaches.

    Args:
        runs: Results of `tam.experiments` by benchmark, with their `curve`.
        goals: The paper's scores by benchmark and k.
    """
    canvas = Canvas(_WIDTH, _HEIGHT)
    canvas.text(24, 28, "The paper's settings: validation against outer steps", size=15, bold=True)
    canvas.text(24, 50, "dashed: the paper's TAM on its test tasks", size=11, colour=MUTED)
    for left, (name, run) in zip(_LEFTS, runs.items(), strict=False):
        metric = metric_of(run)
        axes = _panel(canvas, left, TITLES[name], metric)
        scale = 100 if metric == "accuracy" else 1
        for colour, (k, goal) in zip(_COLOURS, goals[name].items(), strict=False):
            points = [(point["step"], point["scores"][str(k)][metric]) for point in run["curve"]]
            steps = [step for step, _ in points]
            values = [math.nan if value is None else scale * value for _, value in points]
            axes.plot(steps, values, color=colour, linewidth=1.4, label=f"k = {k}")
            axes.axhline(scale * goal, color=colour, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.legend(
            frameon=False,
            fontsize=8,
            ncols=4,
            loc="lower left",
            bbox_to_anchor=(-0.04, 0.97),
            labelcolor=INK,
            handlelength=1.2,
            columnspacing=0.9,
        )
    return canvas


def _panel(canvas: Canvas, left: float, title: str, metric: str) -> "Axes":
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    bottom = 1 - (_TOP + _PANEL_HEIGHT) / _HEIGHT
    axes = canvas.figure.add_axes(
        (left / _WIDTH, bottom, _PANEL_WIDTH / _WIDTH, _PANEL_HEIGHT / _HEIGHT), facecolor="none"
    )
    if metric == "perplexity":
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(10, (1, 1.2, 1.5, 2, 3, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xlabel(f"{title}: outer steps", color=INK, fontsize=10)
    axes.set_ylabel("accuracy, %" if metric == "accuracy" else "perplexity", color=MUTED, fontsize=9)
    axes.tick_params(colors=MUTED, labelsize=8, length=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(RULE)
    return axes
