"""Random programs on lists that are worth learning, each a different function, with examples."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tam.tasks.lists.edits import EDITS
from tam.tasks.lists.grammar import UNDEFINED, Expression, Forms, Grammar, Numbers
from tam.tasks.lists.inputs import ListLimits, RandomLists
from tam.tasks.lists.measures import CONDITIONS, MEASURES
from tam.tasks.lists.numbers import CHANGES, TESTS
from tam.tasks.rng import Dice, Rng

FORMS: Forms = {
    "edit": EDITS,
    "measure": MEASURES,
    "condition": CONDITIONS,
    "change": CHANGES,
    "test": TESTS,
}
"""The forms of every kind of expression."""

DEPTHS = (0, 1, 1, 1, 2, 2, 2, 3)
_PROBES = 32
_FIRST = 8  # examples after which most worthless programs are recognised
_MOST_ALIKE = 0.6  # of the answers may be the same
_MOST_COPIED = 0.7  # of the answers may be the input
_CONSTANT_SHARE = 0.03  # of the programs may have the same answer to everything
_TRIES = 4  # inputs for each example
_NO_ANSWER = (-(2**40),)


class Program(NamedTuple):
    """A function, as text, and examples of it."""

    text: str
    examples: list[tuple[Numbers, Numbers]]


def draw_programs(limits: ListLimits, examples: int, seed: int) -> Iterator[Program]:
    """Yield different functions until no new ones turn up; the order is fixed by the seed.

    A program is skipped if it is undefined or exceeds the limits on most inputs, if its answers are mostly
    the same or mostly its inputs, or if an earlier one answers all probes alike. Few are constant.
    """
    grammar = Grammar(FORMS, limits.values)
    # RandomLists of many styles, on which equal functions agree and others hardly ever do.
    probes = [RandomLists(limits, Dice(Rng("list probes", number))).draw() for number in range(_PROBES)]
    seen: set[int | str] = set()
    made = constant = failures = number = 0
    while failures < 1000:
        dice = Dice(Rng("list programs", seed, number))
        number, failures = number + 1, failures + 1
        drawn = grammar.draw("edit", dice.pick(DEPTHS), dice)
        pairs = _examples(drawn, limits, examples, dice)
        if pairs is None:
            continue
        is_constant = len({tuple(y) for _, y in pairs}) == 1
        if is_constant and constant >= _CONSTANT_SHARE * (made + 1):
            continue
        function = _fingerprint(drawn, probes)
        if function in seen or drawn.text in seen:
            continue
        seen |= {function, drawn.text}
        made, constant, failures = made + 1, constant + is_constant, 0
        yield Program(drawn.text, pairs)


def answer_of(program: Expression, x: Numbers) -> Numbers | None:
    """Run a program on an input; None if it is undefined."""
    try:
        return program.value(x)
    except UNDEFINED:
        return None


def _fingerprint(program: Expression, probes: Sequence[Numbers]) -> int:
    """A hash of the answers to the probes; hashes of integers are the same in every process."""
    return hash(tuple(_NO_ANSWER if (y := answer_of(program, x)) is None else tuple(y) for x in probes))


def _examples(
    program: Expression, limits: ListLimits, count: int, dice: Dice
) -> list[tuple[Numbers, Numbers]] | None:
    """Draw examples with different inputs; None if the program is not worth learning."""
    inputs = RandomLists(limits, dice, program.constants)
    answers: dict[tuple[int, ...], Numbers] = {}
    for tried in range(_TRIES * count):
        x = inputs.draw()
        y = answer_of(program, x)
        if y is not None and limits.allow(y):
            answers.setdefault(tuple(x), y)
        if tried == _TRIES * _FIRST and (len(answers) < _FIRST or not _is_worth_learning(answers)):
            return None
        if len(answers) == count:
            break
    if len(answers) < count or not _is_worth_learning(answers):
        return None
    return [(list(x), y) for x, y in answers.items()]


def _is_worth_learning(answer_to: dict[tuple[int, ...], Numbers]) -> bool:
    """Whether the answers mostly vary, or are all the same, and mostly differ from the inputs."""
    answers = Counter(tuple(y) for y in answer_to.values())
    if answers.most_common(1)[0][1] > _MOST_ALIKE * len(answer_to) and len(answers) > 1:
        return False
    return sum(x == tuple(y) for x, y in answer_to.items()) <= _MOST_COPIED * len(answer_to)
