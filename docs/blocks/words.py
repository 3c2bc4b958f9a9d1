"""Tables in Markdown, and scores in them, in addition to `tam.report.words`."""

import math
from collections.abc import Collection, Sequence

from tam.report.compare import Estimate
from tam.report.words import DIGITS, SCALE, bare_score

NOT_RUN = "Not run yet."


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Make a table; columns are right-aligned, except those whose numbers are in `left`."""
    rule = ["---" if place in left else "---:" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def mean_score(metric: str, one: Estimate) -> str:
    """A mean without unit, with the standard deviation if it is over several runs."""
    mean = bare_score(metric, one.mean)
    return mean if one.runs < 2 or one.error is None else f"{mean} ± {bare_score(metric, one.error)}"


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
