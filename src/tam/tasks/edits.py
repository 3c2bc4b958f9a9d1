"""Edits of the beginning and the end of a sequence, taken from examples, as a rule for answers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Row = tuple[int, ...]


class Edit(NamedTuple):
    """A beginning and an end, with their replacements."""

    start: Row
    end: Row
    new_start: Row
    new_end: Row

    def fits(self, x: Row) -> bool:
        """Whether an input has this beginning and this end."""
        before, behind = len(self.start), len(self.end)
        if len(x) < before + behind:
            return False
        return x[:before] == self.start and x[len(x) - behind :] == self.end

    def apply(self, x: Row) -> Row:
        """The input with its beginning and its end replaced."""
        return self.new_start + x[len(self.start) : len(x) - len(self.end)] + self.new_end


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


def padded(sequences: Sequence[Row]) -> NDArray[np.int64]:
    """Sequences as rows of a matrix, followed by −1."""
    matrix = np.full((len(sequences), max(map(len, sequences), default=0)), -1)
    for row, tokens in enumerate(sequences):
        matrix[row, : len(tokens)] = tokens
    return matrix


def common_runs(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many first tokens each padded row has in common with each row of the other matrix."""
    width = min(one.shape[1], other.shape[1])
    pairs = one[:, None, :width] == other[None, :, :width]
    pairs &= other[None, :, :width] >= 0
    return pairs.cumprod(-1).sum(-1)


class EditRule:
    """Answers inputs of a task with the edits of its examples.

    An example's edit keeps the longest run of tokens that its input and answer share, and replaces what is
    before and after it. Edits rank by how many final tokens the input of their example has in common with the
    query, then by how many examples have them.

    Args:
        rows: Examples; the answers of queries are not read.
    """

    def __init__(self, rows: Sequence[tuple[Row, Row]]) -> None:
        self._rows = rows
        self._edits: list[Edit] = []
        self._numbers: dict[Edit, int] = {}
        self._of_row: dict[int, int] = {}
        self._made: dict[tuple[int, int], Row | None] = {}
        self._reversed = padded([x[::-1] for x, _ in rows])

    def answers(self, support: Sequence[int], asked: Sequence[int], most: int) -> list[list[Row]]:
        """For each row asked, different answers by the edits of other rows in the support, best first.

        >>> rule = EditRule([((1, 2), (1, 2, 9)), ((3, 2), (3, 2, 9)), ((4, 5), (5,)), ((6, 2), ())])
        >>> rule.answers([0, 1, 2], asked=[3], most=2)
        [[(6, 2, 9)]]
        """
        edits = np.array([self._edit(row) for row in support], dtype=np.int64)
        scores = self._scores(np.array(support, dtype=np.int64), np.array(asked, dtype=np.int64), edits)
        order = np.argsort(-scores, axis=1, kind="stable").tolist()
        answers: list[list[Row]] = []
        for row, places in zip(asked, order, strict=True):
            best: list[Row] = []
            for place in places:
                other, edit = support[place], int(edits[place])
                if len(best) == most:
                    break
                if other != row and (y := self._apply(edit, row)) is not None and y not in best:
                    best.append(y)
            answers.append(best)
        return answers

    def _scores(
        self, support: NDArray[np.int64], asked: NDArray[np.int64], edits: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The score of each support row's edit for each row asked: `[asked, support]`."""
        ends = common_runs(self._reversed[asked], self._reversed[support])
        same = edits == edits[:, None]
        itself = asked[:, None] == support  # not counted
        counts = same.sum(1) - itself.astype(np.int64) @ same
        return ends * (len(support) + 1) + counts

    def _edit(self, row: int) -> int:
        """The index of a row's edit."""
        if row not in self._of_row:
            edit = edit_of(*self._rows[row])
            number = self._numbers.setdefault(edit, len(self._numbers))
            self._edits += [edit] * (number == len(self._edits))
            self._of_row[row] = number
        return self._of_row[row]

    def _apply(self, edit: int, row: int) -> Row | None:
        """Apply an edit to the input of a row; None if it does not fit."""
        if (edit, row) not in self._made:
            x, one = self._rows[row][0], self._edits[edit]
            self._made[edit, row] = one.apply(x) if one.fits(x) else None
        return self._made[edit, row]
