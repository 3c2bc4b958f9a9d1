"""Format numbers, scores, times and lists."""

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

SCALE = {"accuracy": 100, "perplexity": 1}
"""Factor by which a score is multiplied for display."""
DIGITS = {"accuracy": 1, "perplexity": 2}
"""Decimals of a displayed score."""
UNIT = {"accuracy": " %", "perplexity": ""}


def better_is(metric: str) -> str:
    """Whether high or low scores are good, in words."""
    return "higher is better" if metric == "accuracy" else "lower is better"


def number(value: int) -> str:
    """An integer with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\u202f")


def span(values: Sequence[int]) -> str:
    """The smallest and the largest of these integers, as `low to high`."""
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


def as_printed(metric: str, value: float) -> str:
    """A score of the paper, with an additional decimal if the paper has one."""
    short = f"{value:.{DIGITS[metric]}f}"
    return short if float(short) == value else f"{value:.{DIGITS[metric] + 1}f}"


def seconds_words(seconds: Sequence[float | None]) -> str:
    """The mean of the known times."""
    known = [one for one in seconds if one is not None]
    return f"{number(round(statistics.fmean(known)))} s" if known else "–"


def k_heads(shots: Iterable[int]) -> list[str]:
    """Column heads for scores at each k."""
    return [f"k = {k}" for k in shots]


def value_words(value: object, between: str = " ") -> str:
    """An input or an answer as text, with something between tokens.

    >>> value_words([3, 1]), value_words("yes"), value_words([]), value_words(["a", "b"], "")
    ('3 1', 'yes', '(empty)', 'ab')
    """
    return between.join(map(str, value)) or "(empty)" if isinstance(value, list | tuple) else str(value)


def example_lines(examples: Iterable[tuple[Sequence[Any], Any]], indent: int, between: str = " ") -> str:
    """Examples as `x  →  y`, one per line.

    >>> print(example_lines([([3, 1], "yes"), ([10, 1], "no")], indent=3))
       3 1   →  yes
       10 1  →  no
    """
    pairs = [(value_words(x, between), value_words(y, between)) for x, y in examples]
    width = max(len(x) for x, _ in pairs)
    return "\n".join(f"{' ' * indent}{x.ljust(width)}  →  {y}" for x, y in pairs)


def in_prose(words: Sequence[str]) -> str:
    """Join words by commas, and the last by "and"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def capitalised(words: str) -> str:
    """Capitalise the first letter, and leave the rest as it is."""
    return words[0].upper() + words[1:]
