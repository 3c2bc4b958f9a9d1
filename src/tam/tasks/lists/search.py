"""A rule made of random programs: those that are right on examples of a task vote on its other answers.

A program has more votes the more examples it gets right and the more often it is drawn, because simpler
programs are drawn more often. The rule of edits, `VotedEdits`, votes like one program.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tam.tasks.edits import Pair, Row
from tam.tasks.lists.grammar import Expression, Grammar
from tam.tasks.lists.programs import DEPTHS, FORMS, answer_of
from tam.tasks.rng import Dice, Rng
from tam.tasks.taskset import TaskSet
from tam.tasks.voted_edits import FURTHER, VotedEdits

_MISS = 0.05
"""The share of its votes that a program keeps for each example that it gets wrong."""
_EDITS = 3.0
"""The votes of the rule of edits: those of a program drawn this often."""
_TRIED = 3
"""The number of examples tried first: a program that is right on none of them is left out."""
_SAMPLED_TASKS = 20
"""Training tasks sampled; a tenth of them must have a program that is right on half of their examples."""

Unreadable = tuple[int | None, ...]
"""Numbers, with None for tokens that are not numbers."""


@lru_cache(maxsize=2)
def draw_distinct(draws: int, values: int) -> tuple[tuple[Expression, int], ...]:
    """The different programs among `draws` random ones, and how often each was drawn."""
    grammar, dice = Grammar(FORMS, values), Dice(Rng("programs to try"))
    drawn = [grammar.draw("edit", dice.pick(DEPTHS), dice) for _ in range(draws)]
    times = Counter(program.text for program in drawn)
    return tuple((program, times[text]) for text, program in {one.text: one for one in drawn}.items())


class ProgramAnswers(NamedTuple):
    """The answers of P programs to the N inputs of a task."""

    times: NDArray[np.float64]  # how often each was drawn, `[P]`
    right: NDArray[np.bool_]  # whether an answer is the example's, `[P, N]`
    number: NDArray[np.int32]  # index of an answer in `distinct`, `[P, N]`
    distinct: tuple[Row | None, ...]  # None for no answer


@lru_cache(maxsize=4096)
def programs_right_on(x: Row, y: Unreadable, draws: int, values: int) -> tuple[int, ...]:
    """The indices of the programs that give this answer to this input."""
    numbers, wanted = list(x), list(y)
    programs = enumerate(draw_distinct(draws, values))
    return tuple(number for number, (program, _) in programs if answer_of(program, numbers) == wanted)


@lru_cache(maxsize=512)
def answers_of_programs(
    rows: tuple[tuple[Row, Unreadable], ...], tried: tuple[int, ...], draws: int, values: int
) -> ProgramAnswers:
    """The answers of the programs that are right on at least one of the tried examples.

    Programs have constants below `values`. Only the answers of the tried examples choose programs.
    """
    chosen = sorted({number for row in tried for number in programs_right_on(*rows[row], draws, values)})
    programs = [draw_distinct(draws, values)[number] for number in chosen]
    numbers: dict[Unreadable | None, int] = {None: 0}
    indices: list[list[int]] = []
    for program, _ in programs:
        own = (answer_of(program, list(x)) for x, _ in rows)
        indices.append([numbers.setdefault(None if y is None else tuple(y), len(numbers)) for y in own])
    number = np.array(indices, dtype=np.int32).reshape(len(indices), len(rows))
    right = number == [numbers.get(y, -1) for _, y in rows]
    times = np.array([count for _, count in programs], dtype=np.float64)
    return ProgramAnswers(times, right, number, tuple(numbers))  # type: ignore[arg-type]


def explain_some(tasks: TaskSet, draws: int) -> bool:
    """Whether the tasks are on lists of integers, and programs explain some training tasks."""
    numbers = [token for token in tasks.vocabulary.tokens if isinstance(token, int)]
    if tasks.kind != "transduction" or len(numbers) < len(tasks.vocabulary):
        return False
    explained = 0
    sample = tasks.train[:: math.ceil(len(tasks.train) / _SAMPLED_TASKS)]
    for task in sample:
        rows = tuple(
            (tuple(numbers[id] for id in x), tuple(numbers[id] for id in y)) for x, y in task.pairs()
        )
        right = answers_of_programs(rows, tuple(range(len(rows)))[:_TRIED], draws, 1 + max(numbers)).right
        explained += bool(2 * right.sum(1).max(initial=0) >= len(rows))
    return 10 * explained >= len(sample)


class ListRule:
    """Answers inputs of a task on lists by a vote among random programs and edits.

    Args:
        rows: Examples in ids.
        edits: The rule of edits for these examples.
        numbers: The number for each id; larger ids are not numbers.
        known: The examples whose answers are known; the first of them choose the programs.
        draws: The number of programs drawn.
    """

    def __init__(
        self,
        rows: Sequence[Pair],
        edits: VotedEdits,
        numbers: Sequence[int],
        known: Sequence[int],
        draws: int,
    ) -> None:
        self._rows, self._edits = rows, edits
        size = len(numbers)
        readable = [row for row, (x, _) in enumerate(rows) if max(x, default=0) < size]
        self._column = {row: column for column, row in enumerate(readable)}
        self._programs = answers_of_programs(
            tuple(
                (
                    tuple(numbers[id] for id in rows[row][0]),
                    tuple(numbers[id] if id < size else None for id in rows[row][1]),
                )
                for row in readable
            ),
            tuple(self._column[row] for row in known if row in self._column)[:_TRIED],
            draws,
            1 + max(numbers),
        )
        ids = {number: id for id, number in enumerate(numbers)}
        distinct = self._programs.distinct
        named = [answer is not None and all(number in ids for number in answer) for answer in distinct]
        self._named = np.array(named, dtype=np.float64)
        self._distinct = [
            tuple(ids[number] for number in answer or ()) if nameable else ()
            for answer, nameable in zip(distinct, named, strict=True)
        ]
        self._place = {self._distinct[place]: place for place in np.flatnonzero(named).tolist()}

    def answers(self, support: Sequence[int], asked: Sequence[int], most: int) -> list[list[Row]]:
        """For each row asked, different answers by other rows in the support, best first."""
        both = [*dict.fromkeys((*support, *asked))]
        edits = dict(zip(both, self._edits.answers(support, both, most), strict=True))
        wrong = {row for row in support if edits[row][:1] != [self._rows[row][1]]}
        answers: list[list[Row]] = []
        for row in asked:
            of_programs = self._votes(support, row)
            best = np.argsort(-of_programs, kind="stable")[:most].tolist()
            votes = {self._distinct[place]: float(of_programs[place]) for place in best if of_programs[place]}
            weight = _EDITS * _MISS ** len(wrong - {row})
            for number, answer in enumerate(edits[row]):
                before = float(of_programs[self._place[answer]]) if answer in self._place else 0.0
                votes[answer] = before + weight * (FURTHER if number else 1.0)
            answers.append(sorted(votes, key=lambda answer: -votes[answer])[:most])
        return answers

    def _votes(self, support: Sequence[int], row: int) -> NDArray[np.float64]:
        """The votes for each distinct answer to a row, by programs that are right on other support rows."""
        others = [self._column[one] for one in support if one != row and one in self._column]
        if row not in self._column or not others:
            return np.zeros(len(self._distinct))
        times, right, number, _ = self._programs
        hits = right[:, others].sum(1)
        weights = times * _MISS ** (len(others) - hits) * (hits > 0)
        return self._named * np.bincount(number[:, self._column[row]], weights, len(self._distinct))
