"""Edits of the beginning and the end of a sequence, taken from examples, as a rule for answers."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Row = tuple[int, ...]
Pair = tuple[Row, Row]
"""An input and its answer."""

T = TypeVar("T", bound=Hashable)


class Edit(NamedTuple):
    """A beginning and an end, with their replacements."""

    start: Row
    end: Row
    new_start: Row
    new_end: Row

    def apply(self, x: Row) -> Row | None:
        """The input with its beginning and its end replaced; None if it has others."""
        before, kept = len(self.start), len(x) - len(self.end)
        if before > kept or x[:before] != self.start or x[kept:] != self.end:
            return None
        return self.new_start + x[before:kept] + self.new_end


@lru_cache(maxsize=1 << 14)
def edit_of(x: Row, y: Row) -> Edit:
    """The edit from x to y that keeps their longest common run of tokens, the first of several.

    >>> edit_of((7, 1, 2, 3), (1, 2, 9, 9))
    Edit(start=(7,), end=(3,), new_start=(), new_end=(9, 9))
    """
    longest = in_x = in_y = 0
    before = [0] * (len(y) + 1)
    for i, token in enumerate(x):
        runs = [0] * (len(y) + 1)
        for j, other in enumerate(y):
            if token == other:
                runs[j + 1] = before[j] + 1
                if runs[j + 1] > longest:
                    longest, in_x, in_y = runs[j + 1], i + 1, j + 1
        before = runs
    return Edit(x[: in_x - longest], x[in_x:], y[: in_y - longest], y[in_y:])


def common_starts(rows: Sequence[Row], others: Sequence[Row]) -> NDArray[np.int64]:
    """How many first tokens each row has in common with each of the others: `[rows, others]`."""
    width = min(max(map(len, part), default=0) for part in (rows, others))
    one, other = (
        np.array([(*row[:width], *[-1] * (width - len(row))) for row in part]).reshape(len(part), width)
        for part in (rows, others)
    )
    same = (one[:, None] == other) & (other >= 0)
    return same.cumprod(-1).sum(-1)


def ranked(
    edits: Sequence[T], likeness: NDArray[np.int64], support: Sequence[int], asked: Sequence[int]
) -> Iterator[list[T]]:
    """Yield, for each row asked, the different edits of other rows in the support, best first.

    Edits rank by likeness, `[asked, support]`, then by how many of the other rows have them.
    """
    numbers = {edit: number for number, edit in enumerate(dict.fromkeys(edits))}
    of_support = np.array([numbers[edit] for edit in edits], dtype=np.int64)
    same = of_support == of_support[:, None]
    itself = np.equal.outer(np.array(asked), np.array(support))
    counts = same.sum(1) - itself.astype(np.int64) @ same
    order = np.argsort(-(likeness * (len(support) + 1) + counts), axis=1, kind="stable")
    distinct = list(numbers)
    for places, skipped in zip(order, itself, strict=True):
        best = dict.fromkeys(of_support[places[~skipped[places]]].tolist())
        yield [distinct[number] for number in best]


def first_different(answers: Iterable[Row], most: int) -> list[Row]:
    """The first `most` different answers; no more are computed."""
    found: dict[Row, None] = {}
    for answer in answers:
        found[answer] = None
        if len(found) == most:
            break
    return list(found)


class EditRule:
    """Answers inputs of a task with the edits of its examples.

    An example's edit keeps the longest run of tokens that its input and answer share, and replaces what is
    before and after it. Edits rank by how many final tokens the input of their example has in common with the
    query, then by how many examples have them.

    Args:
        rows: Examples; the answers of queries are not read.
    """

    def __init__(self, rows: Sequence[Pair]) -> None:
        self._rows = rows

    def answers(self, support: Sequence[int], asked: Sequence[int], most: int) -> list[list[Row]]:
        """For each row asked, different answers by the edits of other rows in the support, best first.

        >>> rule = EditRule([((1, 2), (1, 2, 9)), ((3, 2), (3, 2, 9)), ((4, 5), (5,)), ((6, 2), ())])
        >>> rule.answers([0, 1, 2], asked=[3], most=2)
        [[(6, 2, 9)]]
        """
        ones, others = ([self._rows[row][0][::-1] for row in part] for part in (asked, support))
        edits = [edit_of(*self._rows[row]) for row in support]
        answers: list[list[Row]] = []
        for row, best in zip(asked, ranked(edits, common_starts(ones, others), support, asked), strict=True):
            made = (edit.apply(self._rows[row][0]) for edit in best)
            answers.append(first_different((y for y in made if y is not None), most))
        return answers
