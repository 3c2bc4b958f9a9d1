"""Charts of the documentation: those of the report, side by side in one picture."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from blocks.results import Results
from tam.report.collect import BENCHMARK_TITLES
from tam.report.curve import TITLES
from tam.report.page.axis import Axis
from tam.report.page.chart import Point, Series, line_panel, scatter_panel
from tam.report.page.html import Markup, style, tag
from tam.report.page.published_figures import embedding_dots, learning_series, quality_series
from tam.report.page.scores import k_axis, score_axis
from tam.report.words import better_is

_SIZE = _WIDTH, _HEIGHT = 336.0, 270.0
_GAP, _TOP, _HEAD = 22.0, 48.0, 34.0
_CARD = """
.card { fill: var(--ground); stroke: var(--rule); }
.chart text.title { font-size: 17px; font-weight: 600; fill: var(--ink); }
.chart .head { font-size: 14px; font-weight: 600; fill: var(--ink); }
"""

SIZES = {
    "tasks": "tasks",
    "rows": "examples of each task",
    "inner_steps": "inner steps",
    "tokens": "tokens of an example",
    "width": "width of the network",
}
"""The sizes that benchmarks/scaling.py varies."""
_COSTS = {"training": "tam", "adaptation": "cavia"}
"""The costs that it measures, with the looks of their lines."""


class _Panel(NamedTuple):
    """A chart, its title, and a note beside the title."""

    title: str
    note: str
    chart: Markup


def _lines(title: str, note: str, series: Sequence[Series], x: Axis, y: Axis) -> _Panel:
    return _Panel(title, note, line_panel(series, x, y, _SIZE))


def quality(results: Results) -> str:
    """Quality against k, ours beside the paper's."""
    panels = []
    for name, title in BENCHMARK_TITLES.items():
        metric, series = results.metric(name), quality_series(results, name)
        x, y = k_axis(metric, results.shots), score_axis(metric)
        panels.append(_lines(title, better_is(metric), series, x, y))
    return _picture("Tasks never seen in training, each learned from k examples", panels)


def learning(results: Results) -> str:
    """Validations of the preset `paper`, one line per k; dotted, the test scores of the paper's TAM."""
    panels = []
    for name, run in results.reproductions.items():
        series, y = learning_series(results, [run], name), score_axis(results.metric(name))
        panels.append(_lines(BENCHMARK_TITLES[name], "", series, Axis("outer steps"), y))
    return _picture("The paper's settings; dotted: the paper's TAM on its test tasks", panels)


def embeddings(results: Results) -> str:
    """The map of TAM's task embeddings, by row and by column of the end."""
    facts = results.embeddings["tam"]
    panels = [
        _Panel(
            f"by {part} of the end",
            f"R² = {facts['r2'][part]:.2f}",
            scatter_panel(embedding_dots(facts, part), _SIZE),
        )
        for part in ("row", "column")
    ]
    return _picture(f"Embeddings of {len(facts['points'])} tasks of path-finding from (4,4)", panels)


def scaling(facts: Mapping[str, Any]) -> str:
    """Cost against each size, and memory against inner steps, from results/scaling.json."""
    base, panels = facts["base"], list[_Panel]()
    for sweep in facts["sweeps"]:
        quantity, values = SIZES[sweep["quantity"]], sweep["values"]
        exponents = " and ".join(f"{sweep[f'{cost}_exponent']:.2f}" for cost in _COSTS)
        lines = [_line(cost, values, sweep[f"{cost}_ms"], look) for cost, look in _COSTS.items()]
        across = Axis(quantity, log=True, ticks=values)
        panels.append(_lines(quantity, f"exponents {exponents}", lines, across, Axis("ms", log=True)))
    memory = facts["memory"]
    kept = [_line(TITLES[name], memory["inner_steps"], mib, name) for name, mib in memory["mib"].items()]
    across = Axis("inner steps", log=True, ticks=memory["inner_steps"])
    panels.append(_lines("memory", "kept for the backward pass", kept, across, Axis("MiB", log=True)))
    setting = (
        f"{base['layers']} layers × {base['width']}, {base['tasks']} tasks × {base['rows']} examples × "
        f"{base['tokens']} tokens, {base['inner_steps']} inner steps"
    )
    return _picture(f"One CPU thread, {setting}; one size changes", panels)


def _line(label: str, xs: Sequence[float], ys: Sequence[float], look: str) -> Series:
    return Series(label, [Point(x, y) for x, y in zip(xs, ys, strict=True)], look)


def _picture(title: str, panels: Sequence[_Panel]) -> str:
    """Arrange charts, three in a row, in one picture for light and dark pages."""
    rows, columns = -(-len(panels) // 3), max(2, min(3, len(panels)))  # the title needs two
    width, height = columns * (_WIDTH + _GAP) + _GAP, _TOP + rows * (_HEAD + _HEIGHT + 14)
    parts = [
        tag("title", title),
        tag("style", Markup(style("chart") + _CARD)),
        tag("rect", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=10, class_="card"),
        tag("text", title, x=_GAP, y=34, class_="title"),
    ]
    for place, one in enumerate(panels):
        row, column = divmod(place, 3)
        left, top = _GAP + column * (_WIDTH + _GAP), _TOP + _HEAD + row * (_HEAD + _HEIGHT + 14)
        heading = tag("text", tag("tspan", one.title, class_="head"), f"  {one.note}", x=4, y=-8)
        parts.append(tag("g", heading, one.chart, transform=f"translate({left:g} {top:g})"))
    view: dict[str, Any] = {"width": width, "height": height, "viewBox": f"0 0 {width:g} {height:g}"}
    look = {"class_": "chart", "role": "img", "xmlns": "http://www.w3.org/2000/svg"}
    return tag("svg", *parts, **view, **look) + "\n"
