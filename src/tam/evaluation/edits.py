"""Edits of the beginning and the end of a sequence, as one example shows them."""

from typing import NamedTuple

Row = tuple[int, ...]


class Edit(NamedTuple):
    """What a beginning and an end are replaced by."""

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
    """The edit that keeps the longest run of tokens that x and y share, the first of several.

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
