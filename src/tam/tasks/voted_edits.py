"""A vote among rules of edits, each of which starts from the input or from another task's answer to it."""

from collections.abc import Collection, Mapping, Sequence

from tam.tasks.edits import EditRule, Pair, Row
from tam.tasks.separate_edits import SeparateEdits

FURTHER = 0.3  # share of its rule's votes for each answer but the best
_POWER = 2
_POWER_OF_TWO_RULES, _WHOLE = 3, 0.5  # if edits are also taken apart; whole ones have half the votes


class VotedEdits:
    """A vote among edits of the input and edits of other tasks' answers to the same input.

    Where tasks share inputs, like the columns of a table, another task's answer may be closer than the input:
    "of lives" is an easier edit of the plural "lives" than of "life". The input and each other task have an
    `EditRule` and, if token classes are given, `SeparateEdits`. The votes for a rule's best answer are a
    power of its leave-one-out accuracy on the support; its further answers have fewer.

    Args:
        rows: Examples, as for `EditRule`.
        others: For each row, the answers of other tasks to the same input, by task number.
        members: The tokens of one class, for `SeparateEdits`.
    """

    def __init__(
        self,
        rows: Sequence[Pair],
        others: Sequence[Mapping[int, Row]],
        members: Collection[int] | None = None,
    ) -> None:
        self._rows, self._members = rows, members
        self._rules: list[tuple[EditRule | SeparateEdits, set[int]]] = []
        self._add([x for x, _ in rows])
        for task in dict.fromkeys(task for answers in others for task in answers):
            self._add([answers.get(task) for answers in others])

    def _add(self, starts: Sequence[Row | None]) -> None:
        """Add the rules that begin with these sequences, one for each row that has one."""
        having = {row for row, start in enumerate(starts) if start is not None}
        pairs = [(start or (), y) for start, (_, y) in zip(starts, self._rows, strict=True)]
        self._rules.append((EditRule(pairs), having))
        if self._members is not None:
            self._rules.append((SeparateEdits(pairs, self._members), having))

    def answers(self, support: Sequence[int], asked: Sequence[int], most: int) -> list[list[Row]]:
        """For each row asked, different answers by other rows in the support, best first."""
        votes = {row: dict[Row, float]() for row in asked}
        for rule, having in self._rules:
            members, rows = ([row for row in part if row in having] for part in (support, asked))
            if members and rows:
                self._vote(rule, members, rows, votes, most)
        return [sorted(votes[row], key=lambda y, one=votes[row]: -one[y])[:most] for row in asked]

    def _vote(
        self,
        rule: EditRule | SeparateEdits,
        members: Sequence[int],
        asked: Sequence[int],
        votes: Mapping[int, dict[Row, float]],
        most: int,
    ) -> None:
        answers_of_rule = rule.answers(members, [*members, *asked], most)
        first_answers = zip(members, answers_of_rule, strict=False)
        right = {row: answers[:1] == [self._rows[row][1]] for row, answers in first_answers}
        for row, answers in zip(asked, answers_of_rule[len(members) :], strict=True):
            hits, count = sum(right.values()) - right.get(row, 0), len(members) - (row in right)
            weight = self._votes(rule, (hits + 0.5) / (count + 1))
            for number, answer in enumerate(answers):
                share = weight * (FURTHER if number else 1.0)
                votes[row][answer] = votes[row].get(answer, 0.0) + share

    def _votes(self, rule: EditRule | SeparateEdits, accuracy: float) -> float:
        """The votes for a rule's best answer."""
        if self._members is None:
            return accuracy**_POWER
        return accuracy**_POWER_OF_TWO_RULES * (_WHOLE if isinstance(rule, EditRule) else 1.0)
