"""The picture of what benchmarks/scaling.py measured: costs against sizes, and memory against inner steps."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tam.report.canvas import BLUE, INK, MUTED, ORANGE, PURPLE, RULE, Canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {
    "tasks": "tasks",
    "rows": "examples of each task",
    "inner_steps": "inner steps",
    "tokens": "tokens of an example",
    "width": "width of the network",
}
_WIDTH, _HEIGHT = 960.0, 610.0
_PANEL_WIDTH, _PANEL_HEIGHT = 238.0, 172.0
_LEFTS, _TOPS = (66.0, 380.0, 694.0), (112.0, 380.0)
_LOOKS = {"training": ("training step", BLUE), "adaptation": ("adaptation", ORANGE)}
_METHODS = {"tam": ("TAM", BLUE), "cavia": ("CAVIA", PURPLE)}


def draw(facts: Mapping[str, Any]) -> Canvas:
    """Panels of costs with their fitted exponents, and one of memory; `facts` are of results/scaling.json."""
    canvas = Canvas(_WIDTH, _HEIGHT)
    canvas.text(24, 28, "What TAM costs on one CPU thread", size=15, bold=True)
    base = facts["base"]
    canvas.text(
        24,
        50,
        f"{base['layers']} layers × {base['width']}, {base['tasks']} tasks × {base['rows']} examples × "
        f"{base['tokens']} tokens, {base['inner_steps']} inner steps; one of these changes in each panel",
        size=11,
        colour=MUTED,
    )
    places = [(left, top) for top in _TOPS for left in _LEFTS]
    for (left, top), sweep in zip(places, facts["sweeps"], strict=False):
        axes = _panel(canvas, left, top, sweep["values"], TITLES[sweep["quantity"]], "ms")
        for cost, (name, colour) in _LOOKS.items():
            label = f"{name}, exponent {sweep[f'{cost}_exponent']:.2f}"
            axes.plot(sweep["values"], sweep[f"{cost}_ms"], color=colour, marker="o", ms=4, label=label)
        _legend(axes)
    memory = facts["memory"]
    axes = _panel(canvas, *places[len(facts["sweeps"])], memory["inner_steps"], "inner steps", "MiB kept")
    for method, mib in memory["mib"].items():
        name, colour = _METHODS[method]
        axes.plot(memory["inner_steps"], mib, color=colour, marker="o", ms=4, label=name)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.5 * high), max(high, 2 * low))  # a flat line is not to look like a slope
    _legend(axes)
    return canvas


def _panel(canvas: Canvas, left: float, top: float, values: Sequence[float], title: str, unit: str) -> "Axes":
    """Empty axes, both logarithmic, with the given values on the horizontal one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    bottom = 1 - (top + _PANEL_HEIGHT) / _HEIGHT
    axes = canvas.figure.add_axes(
        (left / _WIDTH, bottom, _PANEL_WIDTH / _WIDTH, _PANEL_HEIGHT / _HEIGHT), facecolor="none"
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(values, [str(value) for value in values])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(title, color=INK, fontsize=10)
    axes.set_ylabel(unit, color=MUTED, fontsize=9)
    axes.tick_params(colors=MUTED, labelsize=8, length=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(RULE)
    return axes


def _legend(axes: "Axes") -> None:
    axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.02, 0.98), labelcolor=INK)
