"""Charts: where points, ticks and labels are, and what is left out."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from tam.report.page.axis import Axis, Scale, linear_ticks
from tam.report.page.chart import Dot, Point, Series, line_chart, scatter


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (1, 1.2, [1, 1.05, 1.1, 1.15, 1.2])],
)
def test_ticks_are_round(low: float, high: float, ticks: list[float]) -> None:
    assert linear_ticks(low, high) == pytest.approx(ticks)


def test_a_log_scale_has_equal_ratios_at_equal_distances() -> None:
    scale = Scale(Axis("", log=True), [1, 100], 0, 200)
    assert [scale(value) for value in (1, 10, 100)] == pytest.approx([0, 100, 200])
    assert scale.ticks == [1, 2, 5, 10, 20, 50, 100]
    assert Scale(Axis("", log=True), [1, 10_000], 0, 1).ticks == [1, 10, 100, 1000, 10_000]
    assert Scale(Axis(""), [5, 5], 0, 100)(5) == 50  # one value is in the middle
    assert Scale(Axis("", log=True), [5], 0, 100)(5) == pytest.approx(50)


def drawn(*series: Series) -> ElementTree.Element:
    """A chart, read as XML."""
    return ElementTree.fromstring(line_chart(series, Axis("x"), Axis("y", log=True), "what it shows"))


def test_points_are_where_they_belong() -> None:
    points = [Point(1, 2, 0.5, "a"), Point(3, math.inf), Point(2, 4), Point(4, math.nan)]
    chart = drawn(Series("one", points, "ours"))
    marks = [element for element in chart.iter("path") if element.get("class") == "mark"]
    places = [tuple(map(float, re.findall(r"[\d.]+", mark.get("transform", "")))) for mark in marks]
    assert len(places) == 2  # what is infinite cannot be drawn
    assert places[0][0] < places[1][0]
    assert places[0][1] > places[1][1]  # pixels count from the top
    assert [element.text for element in chart.iter("title")] == ["one, a"]
    assert len([element for element in chart.iter("path") if element.get("class") == "bar"]) == 1


def test_labels_do_not_overlap() -> None:
    series = [
        Series(f"line {place}", [Point(0, 1), Point(1, 2 + place / 1000)], "ours") for place in range(9)
    ]
    names = [element for element in drawn(*series).iter("text") if "name" in element.get("class", "")]
    heights = sorted(float(name.get("y", "nan")) for name in names)
    assert len(heights) == 9
    assert min(after - before for before, after in pairwise(heights)) >= 13.9
    ordered = sorted(names, key=lambda name: float(name.get("y", "nan")))
    assert [name.text for name in ordered] == [f"line {place}" for place in reversed(range(9))]


def test_a_chart_without_points_says_so() -> None:
    assert "All values are infinite." in "".join(
        drawn(Series("none", [Point(0, math.inf)], "ours")).itertext()
    )


def test_dots_have_their_number() -> None:
    chart = ElementTree.fromstring(scatter([Dot(0, 0, 3, "three"), Dot(1, 2, 7, "seven")], "a map"))
    assert [element.text for element in chart.iter("text")] == ["3", "7"]
    assert chart.get("aria-label") == "a map"
