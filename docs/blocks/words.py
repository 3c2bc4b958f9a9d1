"""Format scores for the tables of the documentation, in addition to `tam.report.words`."""

import math
import statistics
from collections.abc import Sequence

from tam.report.words import DIGITS, SCALE, bare_score


def mean_score(metric: str, values: Sequence[float]) -> str:
    """The mean of scores without unit, with the standard deviation if there are several."""
    mean = bare_score(metric, statistics.fmean(values))
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return mean
    return f"{mean} ± {bare_score(metric, statistics.stdev(values))}"


def signed_difference(metric: str, value: float, other: float) -> str:
    """The difference of two scores, with its sign."""
    if math.isinf(value) or math.isinf(other):
        return "–"
    shown = f"{SCALE[metric] * (value - other):+.{DIGITS[metric]}f}"
    return shown.replace("-", "−")


def is_better(metric: str, value: float, other: float) -> bool:
    """Whether a score, rounded as displayed, is better than another."""
    ours, theirs = float(bare_score(metric, value).replace("∞", "inf")), SCALE[metric] * other
    return ours > theirs + 1e-9 if metric == "accuracy" else ours < theirs - 1e-9
