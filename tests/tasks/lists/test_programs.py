"""Random programs: within the limits, all different, worth learning, and the same on every machine."""

from collections import Counter
from itertools import islice

import pytest

from tam.tasks.lists.grammar import Form, Grammar
from tam.tasks.lists.inputs import ListLimits, RandomLists
from tam.tasks.lists.programs import FORMS, Program, draw_programs
from tam.tasks.rng import Dice, Rng

LIMITS = ListLimits(values=100, shortest=0, longest=10, longest_answer=15)


def first(count: int, limits: ListLimits = LIMITS, seed: int = 0, examples: int = 12) -> list[Program]:
    return list(islice(draw_programs(limits, examples, seed), count))


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return first(300)


@pytest.mark.parametrize("limits", [LIMITS, ListLimits(12, 2, 5, 5), ListLimits(3, 1, 4, 2)])
def test_examples_are_within_the_limits(limits: ListLimits) -> None:
    for program in first(60, limits):
        assert len({tuple(x) for x, _ in program.examples}) == 12
        for x, y in program.examples:
            assert limits.shortest <= len(x) <= limits.longest
            assert len(y) <= limits.longest_answer
            assert all(0 <= v < limits.values for v in x + y)


@pytest.mark.parametrize("limits", [ListLimits(2, 5, 6, 9), ListLimits(100, 30, 30, 40)])
def test_lists_longer_than_different_numbers_make_them_repeat_numbers(limits: ListLimits) -> None:
    dice = Dice(Rng("long"))
    for _ in range(50):
        assert limits.shortest <= len(RandomLists(limits, dice).draw()) <= limits.longest


def test_functions_differ_and_are_worth_learning(programs: list[Program]) -> None:
    assert len({program.text for program in programs}) == len(programs)
    constant = 0
    for program in programs:
        answers = Counter(tuple(y) for _, y in program.examples)
        constant += len(answers) == 1
        assert len(answers) == 1 or answers.most_common(1)[0][1] <= 0.6 * 12
        assert sum(x == y for x, y in program.examples) <= 0.7 * 12
    assert 0 < constant <= 0.03 * len(programs) + 1


def test_equal_functions_are_drawn_once() -> None:
    """With three functions that can be written in many ways, there are three programs."""
    forms = {
        "edit": [
            Form("reverse", (), lambda x: x[::-1]),
            Form("sort", (), sorted),
            Form("{} → {}", ("edit", "edit"), lambda x, one, other: other(one(x))),
        ]
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tam.tasks.lists.programs.FORMS", forms)
        found = list(draw_programs(ListLimits(100, 3, 10, 10), 12, 0))
    assert len(found) == 3  # reverse, sort, and sort → reverse; the identity is none


def test_every_form_is_drawn() -> None:
    grammar, dice = Grammar(FORMS, 100), Dice(Rng("every form"))
    for kind, forms in FORMS.items():
        texts = {grammar.fill(form, 2, dice).text for form in forms}
        assert len(texts) >= len(forms) - 1, kind


def test_inputs_show_the_constants_of_a_program() -> None:
    """A number that is looked for is in about half of the inputs, though few others of its size are."""
    dice = Dice(Rng("constants"))
    with_it = [RandomLists(LIMITS, dice, [77]).draw() for _ in range(400)]
    without = [RandomLists(LIMITS, dice).draw() for _ in range(400)]
    assert 140 < sum(77 in x for x in with_it) < 260
    assert sum(77 in x for x in without) < 40
