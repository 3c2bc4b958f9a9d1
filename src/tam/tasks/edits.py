"""Edits of the beginning and the end of a sequence, taken from examples, as a rule for answers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Row = tuple[int, ...]

FURTHER = 0.3  # share of its rule's votes for each answer but the best


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
        self._reversed = np.full((len(rows), max((len(x) for x, _ in rows), default=0)), -1)
        for row, (x, _) in enumerate(rows):
            self._reversed[row, : len(x)] = x[::-1]

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
        pairs = self._reversed[asked][:, None] == self._reversed[support][None]
        pairs &= self._reversed[support][None] >= 0
        ends = pairs.cumprod(-1).sum(-1)
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


class VotedEdits:
    """A vote among edits of the input and edits of other tasks' answers to the same input.

    Where tasks share inputs, like the columns of a table, another task's answer may be closer than the input:
    "of lives" is an easier edit of the plural "lives" than of "life". The input and each other task have an
    `EditRule`. The votes for its best answer are the square of its leave-one-out accuracy on the support;
    its further answers have fewer.

    Args:
        rows: Examples, as for `EditRule`.
        others: For each row, the answers of other tasks to the same input, by task number.
    """

    def __init__(self, rows: Sequence[tuple[Row, Row]], others: Sequence[Mapping[int, Row]]) -> None:
        self._rows = rows
        self._rules = [(EditRule(rows), {row: row for row in range(len(rows))})]
        tasks = dict.fromkeys(task for answers in others for task in answers)
        for task in tasks:
            having = [row for row, answers in enumerate(others) if task in answers]
            rule = EditRule([(others[row][task], rows[row][1]) for row in having])
            self._rules.append((rule, {row: place for place, row in enumerate(having)}))

    def answers(self, support: Sequence[int], asked: Sequence[int], most: int) -> list[list[Row]]:
        """For each row asked, different answers by other rows in the support, best first."""
        votes = [dict[Row, float]() for _ in asked]
        for rule, places in self._rules:
            members = [row for row in support if row in places]
            rows = [row for row in asked if row in places]
            if members and rows:
                self._vote(rule, places, members, rows, dict(zip(asked, votes, strict=True)), most)
        return [sorted(one, key=lambda answer: -one[answer])[:most] for one in votes]

    def _vote(
        self,
        rule: EditRule,
        places: Mapping[int, int],
        members: Sequence[int],
        asked: Sequence[int],
        votes: Mapping[int, dict[Row, float]],
        most: int,
    ) -> None:
        answers_of_rule = rule.answers(
            [places[row] for row in members], [places[row] for row in (*members, *asked)], most
        )
        right = {
            row: answers[:1] == [self._rows[row][1]]
            for row, answers in zip(members, answers_of_rule[: len(members)], strict=True)
        }
        for row, answers in zip(asked, answers_of_rule[len(members) :], strict=True):
            hits, count = sum(right.values()) - right.get(row, 0), len(members) - (row in right)
            weight = ((hits + 0.5) / (count + 1)) ** 2
            for number, answer in enumerate(answers):
                share = weight * (1.0 if number == 0 else FURTHER)
                votes[row][answer] = votes[row].get(answer, 0.0) + share
