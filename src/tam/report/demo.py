"""Output of the demo: examples and answers as lines of text, or as grids for path-finding."""

from collections.abc import Mapping, Sequence
from typing import Any

from tam.report.grid import draw_grids, letters
from tam.report.words import value_words
from tam.tasks.pathfinding import OFFSET
from tam.tasks.task import Example

_BAR = 10
_GRIDS_BESIDE = 3


def answer_line(x: Sequence[Any], chances: Mapping[Any, float], truth: Any = None, between: str = " ") -> str:
    """An answer with its probability and, if the truth is known, whether it is right.

    >>> answer_line([3, 1], {"yes": 0.8, "no": 0.2})
    '   3 1  →  yes  ████████·· 80 %'
    >>> answer_line([3, 1], {(1, 3): 0.5}, [1, 2])
    '   3 1  →  1 3  █████····· 50 %  ✗ it is 1 2'
    """
    best = max(chances, key=lambda answer: chances[answer])
    chance = chances[best]
    bar = ("█" * round(_BAR * chance)).ljust(_BAR, "·")
    line = f"   {value_words(x, between)}  →  {value_words(best, between)}  {bar} {100 * chance:.0f} %"
    if truth is None:
        return line
    return f"{line}  {'✓' if is_right(best, truth) else f'✗ it is {value_words(truth, between)}'}"


def is_right(answer: Any, truth: Any) -> bool:
    """Whether an answer equals the truth; sequences may be lists or tuples."""
    return list(answer) == list(truth) if isinstance(truth, list) else answer == truth


def grids(layouts: Sequence[Sequence[int]], paths: Sequence[Sequence[int]], *, colour: bool) -> str:
    """Draw layouts of obstacles with their paths, three side by side; S and E mark the ends of a path."""
    made = [
        letters(Example(list(x), list(y)), [y[0] - OFFSET, y[-1] - OFFSET] if y else [0, 0])
        for x, y in zip(layouts, paths, strict=True)
    ]
    parts = [made[start : start + _GRIDS_BESIDE] for start in range(0, len(made), _GRIDS_BESIDE)]
    drawn = "\n\n".join(draw_grids(part, colour=colour) for part in parts)
    return "\n".join(f"   {line}".rstrip() for line in drawn.splitlines())
