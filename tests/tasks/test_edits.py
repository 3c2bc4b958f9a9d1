"""What the edits of examples make of an input, against a reading of the definition one pair at a time."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tam.tasks.edits import EditRule, Pair, Row, edit_of

ROW = st.lists(st.integers(0, 3), max_size=6).map(tuple)
ROWS = st.lists(st.tuples(ROW, ROW), min_size=1, max_size=7)


@given(ROW, ROW)
def test_an_edit_makes_its_own_answer(x: Row, y: Row) -> None:
    assert edit_of(x, y).apply(x) == y


def common_start(one: Row, other: Row) -> int:
    return max(n for n in range(min(len(one), len(other)) + 1) if one[:n] == other[:n])


def slowly(rows: list[Pair], support: list[int], asked: int) -> list[Row]:
    """All answers, best first: by the end in common, then by how many examples have the edit."""
    others = [rows[row] for row in support if row != asked]
    counts = Counter(edit_of(*row) for row in others)
    x = rows[asked][0]
    fitting = [(x_, edit_of(x_, y)) for x_, y in others if edit_of(x_, y).apply(x) is not None]
    fitting.sort(key=lambda one: (-common_start(one[0][::-1], x[::-1]), -counts[one[1]]))
    return list(dict.fromkeys(y for _, edit in fitting if (y := edit.apply(x)) is not None))


@given(ROWS, st.integers(1, 3), st.data())
def test_answers_are_those_of_the_definition(rows: list[Pair], most: int, data: st.DataObject) -> None:
    everything = list(range(len(rows)))
    support = data.draw(st.lists(st.sampled_from(everything), unique=True))
    found = EditRule(rows).answers(support, everything, most)
    assert found == [slowly(rows, support, asked)[:most] for asked in everything]
