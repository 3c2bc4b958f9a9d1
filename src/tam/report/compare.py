"""Compare scores: better, worse, or equal within error."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tam.io import infinite_if_none

Verdict = Literal["better", "within error", "worse", "missing"]
VERDICTS: tuple[Verdict, ...] = ("better", "within error", "worse", "missing")


class Estimate(NamedTuple):
    """A score with its error, if known."""

    mean: float
    error: float | None
    """The standard deviation over runs; for a single run, half of the 95 % interval over its test tasks."""
    runs: int
    """The number of runs behind it; 0 for a number from the paper."""


def estimate(metric: str, scores: Sequence[Mapping[str, Any]]) -> Estimate:
    """Estimate a score from one or more runs at the same k."""
    values = [infinite_if_none(score[metric]) for score in scores]
    if not all(map(math.isfinite, values)):
        return Estimate(math.inf, None, len(values))
    error = statistics.stdev(values) if len(values) > 1 else scores[0].get(f"{metric}_interval")
    return Estimate(statistics.fmean(values), error, len(values))


def gain(metric: str, ours: Estimate, theirs: Estimate) -> float:
    """How much better ours is; positive means better, whether high or low scores are good."""
    if math.isinf(ours.mean) and math.isinf(theirs.mean):
        return 0.0
    return ours.mean - theirs.mean if metric == "accuracy" else theirs.mean - ours.mean


def verdict(metric: str, ours: Estimate | None, theirs: Estimate) -> Verdict:
    """Judge ours against theirs; "within error" is a difference of at most √(our error² + their error²).

    >>> verdict("accuracy", Estimate(0.80, 0.03, 4), Estimate(0.76, 0.04, 0))
    'within error'
    >>> verdict("perplexity", Estimate(1.2, 0.01, 4), Estimate(1.3, 0.02, 0))
    'better'
    """
    if ours is None:
        return "missing"
    difference = gain(metric, ours, theirs)
    if abs(difference) <= math.hypot(ours.error or 0.0, theirs.error or 0.0) + 1e-9:
        return "within error"
    return "better" if difference > 0 else "worse"
