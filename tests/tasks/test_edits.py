"""What the edits of examples make of an input, against a reading of the definition one pair at a time."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tam.tasks.edits import EditRule, Row, VotedEdits, edit_of

ROW = st.lists(st.integers(0, 3), max_size=6).map(tuple)
ROWS = st.lists(st.tuples(ROW, ROW), min_size=1, max_size=7)


@given(ROW, ROW)
def test_an_edit_makes_its_own_answer(x: Row, y: Row) -> None:
    edit = edit_of(x, y)
    assert edit.fits(x)
    assert edit.apply(x) == y


def common_end(one: Row, other: Row) -> int:
    return max(
        n for n in range(min(len(one), len(other)) + 1) if one[len(one) - n :] == other[len(other) - n :]
    )


def slowly(rows: list[tuple[Row, Row]], support: list[int], asked: int) -> list[Row]:
    """All answers, best first: by the end in common, then by how many examples have the edit."""
    others = [rows[row] for row in support if row != asked]
    counts = Counter(edit_of(*row) for row in others)
    x = rows[asked][0]
    fitting = [(x_, edit_of(x_, y)) for x_, y in others if edit_of(x_, y).fits(x)]
    fitting.sort(key=lambda one: (-common_end(one[0], x), -counts[one[1]]))
    return list(dict.fromkeys(edit.apply(x) for _, edit in fitting))


@given(ROWS, st.integers(1, 3), st.data())
def test_answers_are_those_of_the_definition(
    rows: list[tuple[Row, Row]], most: int, data: st.DataObject
) -> None:
    everything = list(range(len(rows)))
    support = data.draw(st.lists(st.sampled_from(everything), unique=True))
    found = EditRule(rows).answers(support, everything, most)
    assert found == [slowly(rows, support, asked)[:most] for asked in everything]


def voted_slowly(
    rows: list[tuple[Row, Row]], others: list[dict[int, Row]], support: list[int], asked: int
) -> dict[Row, float]:
    """The votes for each answer to one row, one rule and one example at a time."""
    votes: dict[Row, float] = {}
    for task in [None, *sorted({number for one in others for number in one})]:
        start = {row: rows[row][0] if task is None else others[row].get(task) for row in range(len(rows))}
        pairs = [(one, rows[row][1]) for row, one in start.items() if one is not None]
        place = {row: n for n, row in enumerate(row for row, one in start.items() if one is not None)}
        members = [row for row in support if row in place]
        if asked not in place or not members:
            continue
        judged = [row for row in members if row != asked]
        answers = {row: slowly(pairs, [place[m] for m in members], place[row]) for row in (*judged, asked)}
        right = sum(answers[row][:1] == [rows[row][1]] for row in judged)
        for number, answer in enumerate(answers[asked][:2]):
            share = ((right + 0.5) / (len(judged) + 1)) ** 2
            votes[answer] = votes.get(answer, 0.0) + share * (1.0 if number == 0 else 0.3)
    return votes


@settings(deadline=None, max_examples=50)
@given(ROWS, st.data())
def test_votes_are_those_of_the_definition(rows: list[tuple[Row, Row]], data: st.DataObject) -> None:
    everything = list(range(len(rows)))
    others = data.draw(
        st.lists(st.dictionaries(st.integers(0, 2), ROW, max_size=3), min_size=len(rows), max_size=len(rows))
    )
    support = data.draw(st.lists(st.sampled_from(everything), unique=True))
    found = VotedEdits(rows, others).answers(support, everything, 2)
    for asked, answers in zip(everything, found, strict=True):
        votes = voted_slowly(rows, others, support, asked)
        best = sorted(votes.values(), reverse=True)[:2]
        assert [votes[answer] for answer in answers] == pytest.approx(best)


def test_another_task_may_be_closer_than_the_input() -> None:
    """From the plural, the genitive is regular; from the singular it is not."""
    plural = {"life": "lives", "wolf": "wolves", "dog": "dogs", "leaf": "leaves"}
    ids = {word: tuple(map(ord, word)) for pair in plural.items() for word in pair}
    rows = [(ids[one], (*ids[many], ord("'"))) for one, many in plural.items()]
    others = [{7: ids[many]} for many in plural.values()]
    (answers,) = VotedEdits(rows, others).answers([0, 2], [3], 1)
    assert answers == [rows[3][1]]
    assert EditRule(rows).answers([0, 2], [3], 1) != [answers]
