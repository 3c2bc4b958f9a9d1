"""Edits of beginnings and of ends, taken from different examples.

`EditRule` copies the whole edit of one example. Here the beginning may be edited as in one example and the
end as in another, and a token that an edit keeps may be any token: after s… → sh…, b… becomes bh….
Where no edit fits, deleted tokens may differ, too: after talk-er → talk-s, liv-ir becomes liv-s.
"""

import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tam.tasks.edits import Pair, Row, common_starts, edit_of, first_different, ranked

Step = tuple[int | None, int | None]
"""One step of a partial edit: the token to delete and the one to insert, each or None; twice None: keep."""

Steps = tuple[Step, ...]

_KEEP: Step = (None, None)
_TRIED = 6  # partial edits of each kind, best first
_LIKE_START, _LIKE_END = 1, 3  # most places at which tokens of the same class count


def steps_of(old: Row, new: Row) -> Steps:
    """The shortest edit of one sequence into another, insertions before deletions.

    >>> steps_of((7,), (3, 7, 5))
    ((None, 3), (None, None), (None, 5))
    """
    kept = np.zeros((len(old) + 1, len(new) + 1), dtype=int)  # most tokens kept from here on
    for i, j in np.ndindex(len(old), len(new)):
        i, j = len(old) - 1 - i, len(new) - 1 - j
        kept[i, j] = kept[i + 1, j + 1] + 1 if old[i] == new[j] else max(kept[i + 1, j], kept[i, j + 1])
    steps: list[Step] = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            steps.append(_KEEP)
            i, j = i + 1, j + 1
        elif j < len(new) and (i == len(old) or kept[i, j + 1] >= kept[i + 1, j]):
            steps.append((None, new[j]))
            j += 1
        else:
            steps.append((old[i], None))
            i += 1
    return tuple(steps)


def apply_steps(
    steps: Sequence[Step], x: Row, may_delete: Callable[[int, int], bool] = operator.eq
) -> tuple[Row, int] | None:
    """Edit a sequence's beginning: the new one, and how many tokens it replaces; None if it does not fit.

    `may_delete` says whether a token of x may be deleted in place of the edit's.

    >>> apply_steps(steps_of((7,), (3, 7, 5)), (1, 2))
    ((3, 1, 5), 1)
    """
    new: list[int] = []
    used = 0
    for deleted, inserted in steps:
        if inserted is not None:
            new.append(inserted)
            continue
        if used == len(x) or (deleted is not None and not may_delete(x[used], deleted)):
            return None
        if deleted is None:
            new.append(x[used])
        used += 1
    return tuple(new), used


def alternating(sequences: Sequence[Row]) -> set[int]:
    """The tokens of one of two classes that tend to alternate, such as vowels (Sukhotin's algorithm).

    >>> alternating([(1, 8, 2, 8), (3, 9, 1, 8)]) == {8, 9}
    True
    """
    beside: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for tokens in sequences:
        for one, other in pairwise(tokens):
            if one != other:
                beside[one][other] += 1
                beside[other][one] += 1
    sums = {token: counts.total() for token, counts in beside.items()}
    chosen: set[int] = set()
    while rest := {token: number for token, number in sums.items() if token not in chosen and number > 0}:
        found = max(rest, key=lambda token: rest[token])
        chosen.add(found)
        for token in rest:
            sums[token] -= 2 * beside[found][token]
    return chosen


class SeparateEdits:
    """Answers inputs of a task with partial edits of its examples.

    Edits of the end rank by how many final tokens the input of their example has in common with the query,
    then by up to three final tokens of the same class, then by how many examples have them; edits of the
    beginning likewise, by initial tokens and the class of the first. Last come edits that delete tokens of
    the same class in place of their own, then edits that only insert.

    Args:
        rows: Examples; the answers of queries are not read.
        members: The tokens of one of the two classes, such as those that are `alternating`.
    """

    def __init__(self, rows: Sequence[Pair], members: Collection[int]) -> None:
        self._rows, self._members = rows, members

    def answers(self, support: Sequence[int], asked: Sequence[int], most: int) -> list[list[Row]]:
        """For each row asked, different answers by the edits of other rows in the support, best first.

        >>> rule = SeparateEdits([((1, 2), (8, 1, 2)), ((3, 4), (8, 3, 9)), ((5, 4), ())], members={2, 4})
        >>> rule.answers([0, 1], asked=[2], most=1)
        [[(8, 5, 9)]]
        """
        edits = [partial_edits(*self._rows[row]) for row in support]
        starts = ranked([start for start, _ in edits], self._likeness(asked, support, 1), support, asked)
        ends = ranked([end for _, end in edits], self._likeness(asked, support, -1), support, asked)
        return [
            first_different(self._made(self._rows[row][0], start[:_TRIED], end[:_TRIED]), most)
            for row, start, end in zip(asked, starts, ends, strict=True)
        ]

    def _made(self, x: Row, starts: Sequence[Steps], ends: Sequence[Steps]) -> Iterator[Row]:
        """Answers by these edits, best first; an edit of the end is loosened before one of the beginning."""
        for starts_made in self._applied(starts, x):
            for ends_made in self._applied(ends, x[::-1]):
                yield from _joined(x, starts_made, ends_made)

    def _applied(self, edits: Sequence[Steps], x: Row) -> Iterator[list[tuple[Row, int]]]:
        """Edit the beginning of x: with the edits as they are, then loosened, then with their insertions."""
        for may_delete in (operator.eq, self._alike):
            made = (apply_steps(steps, x, may_delete) for steps in edits)
            yield [one for one in made if one is not None]
        insertions = ([step for step in steps if step[0] is None] for steps in edits)
        made = (apply_steps(steps, x) for steps in insertions)
        yield [one for one in made if one is not None]

    def _alike(self, token: int, other: int) -> bool:
        return (token in self._members) == (other in self._members)

    def _likeness(
        self, asked: Sequence[int], support: Sequence[int], direction: Literal[1, -1]
    ) -> NDArray[np.int64]:
        """How alike the inputs begin, or end (direction −1): `[asked, support]`."""
        parts = [[self._rows[row][0][::direction] for row in rows] for rows in (asked, support)]
        classes = [[tuple(int(token in self._members) for token in x) for x in part] for part in parts]
        most = _LIKE_START if direction == 1 else _LIKE_END
        return common_starts(*parts) * (_LIKE_END + 1) + np.minimum(common_starts(*classes), most)


@lru_cache(maxsize=1 << 14)
def partial_edits(x: Row, y: Row) -> tuple[Steps, Steps]:
    """The edits of an input's beginning and of its end, the latter from the end backwards."""
    edit = edit_of(x, y)
    return steps_of(edit.start, edit.new_start), steps_of(edit.end[::-1], edit.new_end[::-1])


def _joined(x: Row, starts: Sequence[tuple[Row, int]], ends: Sequence[tuple[Row, int]]) -> Iterator[Row]:
    """For each end, in reverse, the answer with the best beginning that fits beside it."""
    for new_end, replaced in ends:
        for new_start, kept_from in starts:
            if kept_from + replaced <= len(x):
                yield new_start + x[kept_from : len(x) - replaced] + new_end[::-1]
                break
