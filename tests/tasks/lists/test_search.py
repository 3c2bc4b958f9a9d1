"""Random programs that vote on answers, against a reading of the definition one program at a time."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tam
from tam.tasks.edits import Pair, Row
from tam.tasks.lists.grammar import UNDEFINED
from tam.tasks.lists.search import ListRule, draw_distinct, explain_some
from tam.tasks.voted_edits import VotedEdits

DRAWS = 400
ROW = st.lists(st.integers(0, 9), max_size=5).map(tuple)
ROWS = st.lists(st.tuples(ROW, ROW), min_size=2, max_size=6)


def rule_for(rows: list[Pair], known: list[int], draws: int = DRAWS) -> ListRule:
    return ListRule(rows, VotedEdits(rows, [{}] * len(rows)), range(10), known, draws)


def slowly(rows: list[Pair], known: list[int], support: list[int], asked: int) -> dict[Row, float]:
    """The votes for each answer to one row."""
    votes: dict[Row, float] = {}
    others = [row for row in support if row != asked]
    for program, times in draw_distinct(DRAWS, 10):

        def answer(row: int, program: Any = program) -> Row | None:
            try:
                return tuple(program.value(list(rows[row][0])))
            except UNDEFINED:
                return None

        hits = sum(answer(row) == rows[row][1] for row in others)
        y = answer(asked)
        kept = hits and any(answer(row) == rows[row][1] for row in known[:3])
        if kept and y is not None and all(0 <= number <= 9 for number in y):
            votes[y] = votes.get(y, 0.0) + times * 0.05 ** (len(others) - hits)
    edits = VotedEdits(rows, [{}] * len(rows))
    wrong = sum(edits.answers(support, [row], 9)[0][:1] != [rows[row][1]] for row in others)
    for number, y in enumerate(edits.answers(support, [asked], 9)[0]):
        votes[y] = votes.get(y, 0.0) + 3 * 0.05**wrong * (0.3 if number else 1)
    return votes


@settings(max_examples=25)
@given(ROWS, st.data())
def test_answers_are_those_of_the_definition(rows: list[Pair], data: st.DataObject) -> None:
    everything = list(range(len(rows)))
    known = data.draw(st.lists(st.sampled_from(everything), unique=True, min_size=1))
    support = data.draw(st.lists(st.sampled_from(known), unique=True))
    found = rule_for(rows, known).answers(support, everything, most=9)
    for asked, answers in zip(everything, found, strict=True):
        votes = slowly(rows, known, support, asked)
        assert [votes[y] for y in answers] == pytest.approx(sorted(votes.values(), reverse=True)[:9])


def test_programs_find_what_edits_cannot() -> None:
    inputs = [(3, 1, 2), (9, 4), (5, 5, 0, 1), (7, 8, 6)]
    rows = [(x, tuple(sorted(x))) for x in inputs]
    assert rule_for(rows, [0, 1, 2], 5_000).answers([0, 1, 2], [3], most=1) == [[(6, 7, 8)]]


def test_no_example_is_told_its_own_answer() -> None:
    """What the others say of it stays the same, whatever its own answer is."""
    rows = [((3, 1, 2), (1, 2, 3)), ((9, 4), (4, 9)), ((2, 1), (1, 2)), ((8, 6, 7), (7,))]
    changed, every = [*rows[:3], ((8, 6, 7), (0, 0, 5))], [0, 1, 2, 3]
    first, second = (rule_for(some, every).answers(every, [3], most=5) for some in (rows, changed))
    assert first == second


def test_unknown_tokens_are_in_no_program() -> None:
    """An input that has one gets the answers of edits alone."""
    rows = [((3, 1), (1, 3)), ((9, 4), (4, 9)), ((2**30, 1), (1, 2**30)), ((7, 2), ())]
    unknown, known = rule_for(rows, [0, 1, 2], 5_000).answers([0, 1, 2], [2, 3], most=1)
    assert known == [(2, 7)]
    assert unknown == VotedEdits(rows, [{}] * 4).answers([0, 1, 2], [2], most=1)[0]


def test_programs_are_tried_where_they_explain_training_tasks() -> None:
    inputs = [[i, 9 - i, (3 * i) % 10] for i in range(9)]
    odd = [[i, (i * i + 5) % 10, 8 - i, 1, 1, i] for i in range(9)]

    def tasks(y: Sequence[list[int]]) -> tam.TaskSet:
        return tam.tasks_from({str(n): [*zip(inputs, [*y[n:], *y[:n]], strict=True)] for n in range(4)})

    assert explain_some(tam.tasks_from({str(n): [(x, sorted(x)) for x in inputs] for n in range(4)}), 2_000)
    assert not explain_some(tasks(odd), 2_000)
    assert not explain_some(tam.tasks_from({str(n): [(["a", "b"], ["b"])] * 3 for n in range(4)}), 2_000)
