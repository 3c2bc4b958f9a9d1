"""How numbers, scores, times and lists are written."""

import math
import statistics
from collections.abc import Iterable, Sequence

SCALE = {"accuracy": 100, "perplexity": 1}
"""What a score is multiplied by where it is shown."""
DIGITS = {"accuracy": 1, "perplexity": 2}
"""The digits of a score behind its point."""
UNIT = {"accuracy": " %", "perplexity": ""}


def better_is(metric: str) -> str:
    """Which scores are good."""
    return "higher is better" if metric == "accuracy" else "lower is better"


def number(value: int) -> str:
    """An integer with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\u202f")


def span(values: Sequence[int]) -> str:
    """The smallest and the largest of some integers."""
    low, high = min(values), max(values)
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def bare_score(metric: str, value: float) -> str:
    """A score without its unit."""
    if math.isinf(value):
        return "∞"
    return f"{SCALE[metric] * value:.{DIGITS[metric]}f}"


def score_words(metric: str, value: float) -> str:
    """A score with its unit."""
    return bare_score(metric, value) + UNIT[metric]


def mean_score(metric: str, values: Sequence[float]) -> str:
    """The mean of some scores, with their standard deviation if there are several, without the unit."""
    mean = bare_score(metric, statistics.fmean(values))
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return mean
    return f"{mean} ± {bare_score(metric, statistics.stdev(values))}"


def signed_difference(metric: str, value: float, other: float) -> str:
    """How much a score is above another, with its sign."""
    if math.isinf(value) or math.isinf(other):
        return "–"
    shown = f"{SCALE[metric] * (value - other):+.{DIGITS[metric]}f}"
    return shown.replace("-", "−")


def is_better(metric: str, value: float, other: float) -> bool:
    """Whether a score, as it is shown, is better than another."""
    ours, theirs = float(bare_score(metric, value).replace("∞", "inf")), SCALE[metric] * other
    return ours > theirs + 1e-9 if metric == "accuracy" else ours < theirs - 1e-9


def as_printed(metric: str, value: float) -> str:
    """A score of the paper: with the usual digits, or with one more where the paper has it."""
    short = f"{value:.{DIGITS[metric]}f}"
    return short if float(short) == value else f"{value:.{DIGITS[metric] + 1}f}"


def seconds_words(seconds: Sequence[float | None]) -> str:
    """The mean of some times that are known."""
    known = [one for one in seconds if one is not None]
    return f"{number(round(statistics.fmean(known)))} s" if known else "–"


def k_heads(shots: Iterable[int]) -> list[str]:
    """The heads of columns with a score for each k."""
    return [f"k = {k}" for k in shots]


def in_prose(words: Sequence[str]) -> str:
    """Words with commas, and an "and" before the last."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def capitalised(words: str) -> str:
    """Words as they start a line; capitals further on stay."""
    return words[0].upper() + words[1:]
