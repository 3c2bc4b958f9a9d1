"""What benchmarks/scaling.py measured: cost against every size, and memory against inner steps."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from drawings.canvas import BLUE, INK, MUTED, ORANGE, PURPLE, Canvas, log_scale

TITLES = {
    "tasks": "tasks",
    "rows": "examples of each task",
    "inner_steps": "inner steps",
    "tokens": "tokens of an example",
    "width": "width of the network",
}
_PLACES = [(left, top) for top in (112.0, 380.0) for left in (66.0, 380.0, 694.0)]
_LOOKS = {"training": ("training step", BLUE), "adaptation": ("adaptation", ORANGE)}
_METHODS = {"tam": ("TAM", BLUE), "cavia": ("CAVIA", PURPLE)}


def draw(facts: Mapping[str, Any]) -> Canvas:
    """A panel of costs with their fitted exponents for each size, and one of memory.

    `facts` are those of results/scaling.json.
    """
    canvas, base = Canvas(960, 610), facts["base"]
    canvas.text(24, 28, "What TAM costs on one CPU thread", size=15, bold=True)
    setting = (
        f"{base['layers']} layers × {base['width']}, {base['tasks']} tasks × {base['rows']} examples × "
        f"{base['tokens']} tokens, {base['inner_steps']} inner steps; one of these changes in each panel"
    )
    canvas.text(24, 50, setting, size=11, colour=MUTED)
    for place, sweep in zip(_PLACES, facts["sweeps"], strict=False):
        axes = _panel(canvas, place, sweep["values"], TITLES[sweep["quantity"]], "ms")
        for cost, (name, colour) in _LOOKS.items():
            label = f"{name}, exponent {sweep[f'{cost}_exponent']:.2f}"
            axes.plot(sweep["values"], sweep[f"{cost}_ms"], color=colour, marker="o", ms=4, label=label)
        _legend(axes)
    memory = facts["memory"]
    axes = _panel(canvas, _PLACES[len(facts["sweeps"])], memory["inner_steps"], "inner steps", "MiB kept")
    for method, mib in memory["mib"].items():
        name, colour = _METHODS[method]
        axes.plot(memory["inner_steps"], mib, color=colour, marker="o", ms=4, label=name)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.5 * high), max(high, 2 * low))  # a flat line must not look like a slope
    _legend(axes)
    return canvas


def _panel(
    canvas: Canvas, place: tuple[float, float], values: Sequence[float], title: str, unit: str
) -> Axes:
    """Empty axes, both logarithmic, with the given values on the horizontal one."""
    axes = canvas.panel(*place, 238, 172, title, unit)
    axes.set_xscale("log")
    axes.set_xticks(values, [str(value) for value in values])
    axes.xaxis.set_minor_locator(NullLocator())
    log_scale(axes, (1, 2, 5))
    return axes


def _legend(axes: Axes) -> None:
    axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.02, 0.98), labelcolor=INK)
