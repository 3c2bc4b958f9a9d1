"""Votes among rules of edits, against a reading of the definition one rule and one example at a time."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tam.tasks.edits import EditRule, Pair, Row
from tam.tasks.separate_edits import SeparateEdits
from tam.tasks.voted_edits import VotedEdits
from tests.tasks.test_edits import ROW, ROWS

MEMBERS = {1, 3}


def rules(
    pairs: list[Pair], members: set[int] | None
) -> Iterator[tuple[EditRule | SeparateEdits, float, int]]:
    """Each rule, its share of the votes, and the power of its accuracy."""
    if members is None:
        yield EditRule(pairs), 1.0, 2
    else:
        yield EditRule(pairs), 0.5, 3
        yield SeparateEdits(pairs, members), 1.0, 3


def voted_slowly(
    rows: list[Pair], others: list[dict[int, Row]], support: list[int], asked: int, members: set[int] | None
) -> dict[Row, float]:
    """The votes for each answer to one row."""
    votes: dict[Row, float] = {}
    for task in [None, *sorted({number for one in others for number in one})]:
        start = {row: rows[row][0] if task is None else others[row].get(task) for row in range(len(rows))}
        pairs = [(one, rows[row][1]) for row, one in start.items() if one is not None]
        place = {row: n for n, row in enumerate(row for row, one in start.items() if one is not None)}
        having = [row for row in support if row in place]
        if asked not in place or not having:
            continue
        judged = [row for row in having if row != asked]
        known = [place[row] for row in having]
        for rule, most, power in rules(pairs, members):
            answers = {row: rule.answers(known, [place[row]], 2)[0] for row in (*judged, asked)}
            right = sum(answers[row][:1] == [rows[row][1]] for row in judged)
            for number, answer in enumerate(answers[asked]):
                share = most * ((right + 0.5) / (len(judged) + 1)) ** power
                votes[answer] = votes.get(answer, 0.0) + share * (1.0 if number == 0 else 0.3)
    return votes


@settings(deadline=None, max_examples=50)
@given(ROWS, st.sampled_from([None, MEMBERS]), st.data())
def test_votes_are_those_of_the_definition(
    rows: list[Pair], members: set[int] | None, data: st.DataObject
) -> None:
    everything = list(range(len(rows)))
    others = data.draw(
        st.lists(st.dictionaries(st.integers(0, 2), ROW, max_size=3), min_size=len(rows), max_size=len(rows))
    )
    support = data.draw(st.lists(st.sampled_from(everything), unique=True))
    found = VotedEdits(rows, others, members).answers(support, everything, 2)
    for asked, answers in zip(everything, found, strict=True):
        votes = voted_slowly(rows, others, support, asked, members)
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
