"""Scores in cells and charts: ours beside theirs, and how they compare."""

import math
from collections.abc import Mapping, Sequence

from tam.report.compare import Estimate, Verdict, gain, verdict
from tam.report.page.axis import Axis
from tam.report.page.chart import Point, Series
from tam.report.page.html import Markup, join, tag
from tam.report.words import SCALE, UNIT, as_printed, bare_score, score_words

SIGNS: dict[Verdict, str] = {"better": "▲", "within error": "≈", "worse": "▼", "missing": "–"}
CSS_CLASSES: dict[Verdict, str] = {
    "better": "better", "within error": "within", "worse": "worse", "missing": "missing"
}  # fmt: skip


def cell(metric: str, ours: Estimate | None, theirs: Estimate | None, whose: str) -> Markup:
    """Our score, theirs below it, and how they compare; or a mark for a missing score."""
    parts = [] if ours is None else [estimate_words(metric, ours)]
    if theirs is not None:
        error = "" if theirs.error is None else f" ± {bare_score(metric, theirs.error)}"
        parts.append(tag("span", f"{whose} {_mean(metric, theirs)}{error}".strip(), class_="theirs"))
        parts.append(chip(metric, ours, theirs))
    elif ours is None:
        parts.append(mark("missing"))
    return tag("span", *parts, class_="cell")


def estimate_words(metric: str, one: Estimate) -> Markup:
    """A score with its error over runs, or, in brackets, over the test tasks of a single run."""
    parts = [tag("b", bare_score(metric, one.mean))]
    if one.error is not None:
        error = f"± {bare_score(metric, one.error)}"
        parts.append(tag("span", f" {error}" if one.runs > 1 else f" ({error})", class_="error"))
    return join(parts)


def _mean(metric: str, one: Estimate) -> str:
    """A mean; the paper's as printed in the paper."""
    if one.runs:
        return bare_score(metric, one.mean)
    return as_printed(metric, round(SCALE[metric] * one.mean, 6))


def chip(metric: str, ours: Estimate | None, theirs: Estimate) -> Markup:
    """How ours compares: a sign, a number, and words for screen readers."""
    judged = verdict(metric, ours, theirs)
    if ours is None or judged == "within error":
        return mark(judged)
    by = abs(gain(metric, ours, theirs))
    words = "" if math.isinf(by) else f" {bare_score(metric, by)}"
    return mark(judged, words)


def mark(found: Verdict, by: str = "") -> Markup:
    """A verdict as a small label."""
    words = {"better": f"{by} better", "worse": f"{by} worse"}.get(found, f" {found}")
    return tag("span", SIGNS[found] + words, class_=f"chip {CSS_CLASSES[found]}")


def legend(whose: str = "the paper") -> Markup:
    """Explain the labels in cells."""
    words = {
        "better": f"than {whose}, by this much",
        "within error": "the difference is at most √(our error² + the other error²)",
        "worse": f"than {whose}, by this much",
        "missing": "not run yet",
    }
    parts = [tag("span", mark(found), f" {text}") for found, text in words.items()]  # pyright: ignore[reportArgumentType]
    return tag("div", *parts, class_="legend")


def k_axis(metric: str, shots: Sequence[int]) -> Axis:
    """The horizontal axis of scores against k."""
    per = " per class" if metric == "accuracy" else ""
    return Axis(f"k, examples of a new task{per}", log=True, ticks=shots)


def score_axis(metric: str) -> Axis:
    """The vertical axis of scores."""
    return Axis("accuracy, %") if metric == "accuracy" else Axis("perplexity", log=True)


def against_k(
    label: str, metric: str, scores: Mapping[int, Estimate], look: str, marker: str = "circle"
) -> Series:
    """A line of scores against k."""
    points = [point(metric, k, one, f"k = {k}") for k, one in scores.items() if k > 0]
    return Series(label, points, look, marker)


def point(metric: str, x: float, one: Estimate, where: str) -> Point:
    """A score in a chart, with its error."""
    scale = SCALE[metric]
    error = "" if one.error is None else f" ± {bare_score(metric, one.error)}{UNIT[metric]}"
    words = f"{where}: {score_words(metric, one.mean)}{error}"
    return Point(x, scale * one.mean, None if one.error is None else scale * one.error, words)


def exact(scores: Mapping[int, float]) -> dict[int, Estimate]:
    """Scores without error."""
    return {k: Estimate(value, None, 0) for k, value in scores.items()}
