"""Charts as SVG: lines with error bars or bands, labelled at their ends, and scatter plots.

The class of a series selects its colour, dash and weight in `chart.css`, so that charts follow the dark mode
of the page.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tam.report.page.axis import Axis, Scale
from tam.report.page.html import Markup, join, tag

SIZE = (400.0, 290.0)
"""Width and height of an unscaled chart, in pixels."""
_LEFT, _TOP, _BOTTOM = 42.0, 30.0, 44.0
_CHARACTER, _LINE = 6.4, 14.0  # a typical character's width and a line's height, in pixels
_SHAPES = {
    "circle": "M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0z",
    "square": "M-3.1,-3.1h6.2v6.2h-6.2z",
    "diamond": "M0,-4.4l4.4,4.4l-4.4,4.4l-4.4,-4.4z",
    "triangle": "M0,-4.2l4.2,7.4h-8.4z",
}


@dataclass(frozen=True)
class Point:
    """A point of a series, with its error, if known."""

    x: float
    y: float
    error: float | None = None
    words: str = ""
    """The tooltip."""


@dataclass(frozen=True)
class Series:
    """A line through points."""

    label: str
    points: Sequence[Point]
    look: str
    """Its class in `chart.css`."""
    marker: str = "circle"
    """The shape of its points; none if empty."""
    band: bool = False
    """Whether errors are drawn as a band instead of bars."""

    @property
    def shown(self) -> list[Point]:
        """The points that can be drawn."""
        return sorted(
            (p for p in self.points if math.isfinite(p.x) and math.isfinite(p.y)), key=lambda p: p.x
        )


def line_chart(series: Sequence[Series], x: Axis, y: Axis, label: str) -> Markup:
    """Draw lines, each labelled at its end; `label` is for screen readers."""
    if not any(one.shown for one in series):
        return tag("p", "All values are infinite.", class_="missing")
    return _svg(line_panel(series, x, y), SIZE, label)


def _svg(drawn: Markup, size: tuple[float, float], label: str) -> Markup:
    view = f"0 0 {size[0]:g} {size[1]:g}"
    return tag("svg", drawn, viewBox=view, role="img", aria_label=label, class_="chart")


def line_panel(series: Sequence[Series], x: Axis, y: Axis, size: tuple[float, float] = SIZE) -> Markup:
    """The inside of a line chart, without the `svg` element."""
    drawn = [(one, one.shown) for one in series if one.shown]
    width, height = size
    end = width - 16 - _CHARACTER * max(len(one.label) for one, _ in drawn)
    across = Scale(x, [p.x for _, points in drawn for p in points], _LEFT + 8, end - 6)
    up = Scale(y, list(_heights(drawn, y)), height - _BOTTOM, _TOP)
    parts = [_axes(across, up, x, y, end, height)]
    parts += [_line(one, points, across, up) for one, points in drawn]
    ends = [(one, up(points[-1].y), across(points[-1].x)) for one, points in drawn if one.label]
    return join([*parts, _labels(ends, up, end + 10)])


def _heights(drawn: Sequence[tuple[Series, list[Point]]], y: Axis) -> Iterator[float]:
    """All values that the vertical axis must include."""
    for _, points in drawn:
        for point in points:
            yield point.y
            error = point.error or 0.0
            yield point.y + error
            if point.y - error > 0 or not y.log:
                yield point.y - error


def _axes(across: Scale, up: Scale, x: Axis, y: Axis, end: float, height: float) -> Markup:
    bottom = height - _BOTTOM
    parts = []
    for tick in up.ticks:
        at = up(tick)
        parts.append(tag("line", x1=_LEFT, x2=end, y1=at, y2=at, class_="grid"))
        parts.append(tag("text", f"{tick:g}", x=_LEFT - 8, y=at + 4, class_="tick end"))
    parts.append(tag("line", x1=_LEFT, x2=end, y1=bottom + 6, y2=bottom + 6, class_="base"))
    last = -math.inf
    for tick in across.ticks:
        at, words = across(tick), _short(tick)
        parts.append(tag("line", x1=at, x2=at, y1=bottom + 6, y2=bottom + 10, class_="base"))
        if at - last > _CHARACTER * len(words) + 4:
            parts.append(tag("text", words, x=at, y=bottom + 22, class_="tick middle"))
            last = at
    parts.append(tag("text", x.label, x=(_LEFT + end) / 2, y=height - 4, class_="axis middle"))
    parts.append(tag("text", y.label, x=4, y=14, class_="axis"))
    return join(parts)


def _short(value: float) -> str:
    """A number for a tick, with thousands as k."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def _line(one: Series, points: Sequence[Point], across: Scale, up: Scale) -> Markup:
    parts = []
    places = [(across(p.x), up(p.y)) for p in points]
    with_errors = [p for p in points if p.error]
    if one.band and with_errors:
        edge = [f"{across(p.x):.1f},{up(_upper(p)):.1f}" for p in points]
        edge += [f"{across(p.x):.1f},{up(_lower(p, up)):.1f}" for p in reversed(points)]
        parts.append(tag("polygon", points=" ".join(edge), class_="band"))
    elif with_errors:
        parts += [_bar(across(p.x), up(_lower(p, up)), up(_upper(p))) for p in with_errors]
    if len(places) > 1:
        path = "M" + "L".join(f"{px:.1f},{py:.1f}" for px, py in places)
        parts.append(tag("path", d=path, class_="line"))
    for point, (px, py) in zip(points, places, strict=True):
        words = [tag("title", f"{one.label}, {point.words}")] if point.words else []
        shape = _SHAPES.get(one.marker) or (_SHAPES["circle"] if len(places) == 1 else "")
        if shape:
            move = f"translate({px:.1f} {py:.1f})"
            parts.append(tag("path", *words, d=shape, transform=move, class_="mark"))
    return tag("g", *parts, class_=f"series {one.look}")


def _upper(point: Point) -> float:
    return point.y + (point.error or 0.0)


def _lower(point: Point, up: Scale) -> float:
    return max(point.y - (point.error or 0.0), up.low)


def _bar(x: float, low: float, high: float) -> Markup:
    left = x - 3
    path = f"M{x:.1f},{low:.1f}V{high:.1f}M{left:.1f},{low:.1f}h6M{left:.1f},{high:.1f}h6"
    return tag("path", d=path, class_="bar")


def _labels(ends: Sequence[tuple[Series, float, float]], up: Scale, left: float) -> Markup:
    """The names of the lines at their ends, moved apart if they would overlap."""
    ordered = sorted(ends, key=lambda end: end[1])
    places = _apart([y for _, y, _ in ordered], up(up.high), up(up.low))
    parts = []
    for (one, y, x), place in zip(ordered, places, strict=True):
        if abs(place - y) > 3 or left - x > 24:
            path = f"M{x + 6:.1f},{y:.1f}L{left - 3:.1f},{place:.1f}"
            parts.append(tag("path", d=path, class_=f"leader {one.look}"))
        parts.append(tag("text", one.label, x=left, y=place + 4, class_=f"name {one.look}"))
    return join(parts)


def _apart(places: Sequence[float], low: float, high: float) -> list[float]:
    """Move ascending places as little as possible so that labels do not overlap."""
    blocks: list[list[float]] = []  # of neighbouring labels, by their original places
    for place in places:
        blocks.append([place])
        while len(blocks) > 1 and _overlap(blocks[-2], blocks[-1], low, high):
            last = blocks.pop()
            blocks[-1] += last
    result: list[float] = []
    for block in blocks:
        first = _centre(block, low, high) - _LINE * (len(block) - 1) / 2
        result += [first + _LINE * place for place in range(len(block))]
    return result


def _overlap(above: Sequence[float], below: Sequence[float], low: float, high: float) -> bool:
    between = _centre(below, low, high) - _centre(above, low, high)
    return between < _LINE * (len(above) + len(below)) / 2


def _centre(block: Sequence[float], low: float, high: float) -> float:
    half = _LINE * (len(block) - 1) / 2
    return min(max(sum(block) / len(block), low + half), max(high - half, low + half))


@dataclass(frozen=True)
class Dot:
    """A point of a scatter plot, with the number written on it and its tooltip."""

    x: float
    y: float
    value: int
    words: str


def scatter(dots: Sequence[Dot], label: str) -> Markup:
    """Draw a square scatter plot of dots, coloured by their value, which is also written on them."""
    size = (400.0, 400.0)
    return _svg(scatter_panel(dots, size), size, label)


def scatter_panel(dots: Sequence[Dot], size: tuple[float, float]) -> Markup:
    """The inside of a scatter plot, without the `svg` element."""
    (width, height), edge = size, 18.0
    across = Scale(Axis(""), [dot.x for dot in dots], edge, width - edge)
    up = Scale(Axis(""), [dot.y for dot in dots], height - edge, edge)
    parts = [tag("rect", x=1, y=1, width=width - 2, height=height - 2, rx=6, class_="frame")]
    for dot in dots:
        mark = tag("circle", r=10, class_=f"dot v{dot.value}")
        number = tag("text", str(dot.value), y=4, class_=f"on v{dot.value}")
        move = f"translate({across(dot.x):.1f} {up(dot.y):.1f})"
        parts.append(tag("g", tag("title", dot.words), mark, number, transform=move))
    return join(parts)
