"""Edits of beginnings and ends apart, against a reading of the definition one example at a time."""

import itertools
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tam.tasks.edits import Pair, Row
from tam.tasks.separate_edits import (
    SeparateEdits,
    Step,
    Steps,
    alternating,
    apply_steps,
    partial_edits,
    steps_of,
)
from tests.tasks.test_edits import ROW, ROWS, common_start


@given(ROW, ROW, ROW)
def test_steps_make_the_new_sequence(old: Row, new: Row, rest: Row) -> None:
    steps = steps_of(old, new)
    assert apply_steps(steps, old + rest) == (new, len(old))
    assert apply_steps(steps_of((1,), (1, *new)), (5, *rest)) == ((5, *new), 1)  # what is kept may be any
    kept = sum(step == (None, None) for step in steps)
    assert len(steps) == len(old) + len(new) - kept


def ranked(rows: list[Pair], others: list[int], asked: int, *, end: bool) -> list[Steps]:
    step, most = (-1, 3) if end else (1, 1)
    x = rows[asked][0][::step]
    edits = {row: partial_edits(*rows[row])[end] for row in others}
    counts = Counter(edits.values())

    def key(row: int) -> tuple[int, int, int]:
        other = rows[row][0][::step]
        odd = (tuple(token % 2 for token in tokens) for tokens in (x, other))
        return -common_start(x, other), -min(common_start(*odd), most), -counts[edits[row]]

    return [*dict.fromkeys(edits[row] for row in sorted(others, key=key))][:6]


def slowly(rows: list[Pair], support: list[int], asked: int) -> list[Row]:
    others = [row for row in support if row != asked]
    x, answers = rows[asked][0], []
    for start_level, end_level in itertools.product(range(3), repeat=2):
        for at_end in ranked(rows, others, asked, end=True):
            for at_start in ranked(rows, others, asked, end=False):
                start, end = loosely(at_start, x, start_level), loosely(at_end, x[::-1], end_level)
                if start and end and start[1] + end[1] <= len(x):
                    answers.append(start[0] + x[start[1] : len(x) - end[1]] + end[0][::-1])
                    break
    return list(dict.fromkeys(answers))


def loosely(steps: Steps, x: Row, level: int) -> tuple[Row, int] | None:
    """Level 0: the edit as it is; 1: delete any tokens of the same class; 2: delete none."""
    loose: list[Step] = []
    place = -1
    for deleted, inserted in steps:
        place += inserted is None
        if level == 1 and deleted is not None and x[place : place + 1] and x[place] % 2 == deleted % 2:
            deleted = x[place]
        if level < 2 or deleted is None:
            loose.append((deleted, inserted))
    return apply_steps(loose, x)


@settings(deadline=None)
@given(ROWS, st.integers(1, 3), st.data())
def test_answers_are_those_of_the_definition(rows: list[Pair], most: int, data: st.DataObject) -> None:
    everything = list(range(len(rows)))
    support = data.draw(st.lists(st.sampled_from(everything), unique=True))
    found = SeparateEdits(rows, members={1, 3}).answers(support, everything, most)
    assert found == [slowly(rows, support, asked)[:most] for asked in everything]


def test_beginning_and_end_come_from_different_examples() -> None:
    """Irish: the first consonant softens, and the ending follows the last vowel."""
    words = {"seas": "sheasaimis", "cuir": "chuirimis", "maraigh": "mharaímis", "brúigh": "bhrúimis"}
    rows = [(tuple(map(ord, x)), tuple(map(ord, y))) for x, y in words.items()]
    rows.append((tuple(map(ord, "tapaigh")), ()))
    (answers,) = SeparateEdits(rows, set(map(ord, "aiueoíú"))).answers([0, 1, 2, 3], [4], 1)
    assert "".join(map(chr, answers[0])) == "thapaímis"


def test_an_ending_that_no_example_has_is_replaced_like_others() -> None:
    """Breton: -añ, -iñ and -et make way for -fe; without an ending to replace, -fe is added."""
    words = {"gwildronañ": "gwildronfe", "korolliñ": "korollfe"}
    rows = [(tuple(map(ord, x)), tuple(map(ord, y))) for x, y in words.items()]
    rows += [(tuple(map(ord, x)), ()) for x in ("gwelet", "mont")]
    answers = SeparateEdits(rows, set(map(ord, "aeiou"))).answers([0, 1], [2, 3], 1)
    assert ["".join(map(chr, answer)) for (answer,) in answers] == ["gwelfe", "montfe"]


def test_vowels_alternate_with_consonants() -> None:
    words = ["banana", "potato", "melody", "animal", "pelican", "minute", "galaxy", "remedy", "vitamin"]
    found = alternating([tuple(map(ord, word)) for word in words])
    assert {chr(token) for token in found} >= set("aeio")
    assert not {chr(token) for token in found} & set("btmnpld")
