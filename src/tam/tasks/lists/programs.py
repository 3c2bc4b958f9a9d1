"""Random programs on lists that are worth learning, each a different function, with examples."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tam.tasks.lists.edits import EDITS
from tam.tasks.lists.grammar import UNDEFINED, Expression, Forms, Grammar, Numbers
from tam.tasks.lists.inputs import Inputs, Limits
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
_FIRST = 8  # examples after which a program that is not worth it is mostly known to be
_MOST_ALIKE = 0.6  # of the answers may be the same
_MOST_COPIED = 0.7  # of the answers may be the input
_CONSTANT_SHARE = 0.03  # of the programs may have the same answer to everything
_TRIES = 4  # inputs for each example
_NO_ANSWER = (-(2**40),)


class Program(NamedTuple):
    """A function in words, and examples of it."""

    text: str
    examples: list[tuple[Numbers, Numbers]]


def draw_programs(limits: Limits, examples: int, seed: int) -> Iterator[Program]:
    """Different functions, until nothing new is found; the first ones of a seed are always the same.

    A program is left out if it is undefined or beyond the limits for most inputs, if its answers are mostly
    the same or mostly its inputs, or if an earlier one answers all probes alike. Few are constant.
    """
    grammar = Grammar(FORMS, limits.values)
    probes = _probes(limits)
    seen: set[int | str] = set()
    made = constant = failures = number = 0
    while failures < 1000:
        dice = Dice(Rng("list programs", seed, number))
        number, failures = number + 1, failures + 1
        drawn = grammar.draw("edit", dice.pick(DEPTHS), dice)
        found = _examples(drawn, limits, examples, dice)
        if found is None:
            continue
        is_constant = len({tuple(y) for _, y in found}) == 1
        if is_constant and constant >= _CONSTANT_SHARE * (made + 1):
            continue
        function = _number_of(drawn, probes)
        if function in seen or drawn.text in seen:
            continue
        seen |= {function, drawn.text}
        made, constant, failures = made + 1, constant + is_constant, 0
        yield Program(drawn.text, found)


def _probes(limits: Limits) -> list[Numbers]:
    """Inputs of many styles, on which equal functions agree and others hardly ever do."""
    return [Inputs(limits, Dice(Rng("list probes", number))).draw() for number in range(_PROBES)]


def answer_of(program: Expression, x: Numbers) -> Numbers | None:
    """What a program answers; None where it has no answer."""
    try:
        return program.value(x)
    except UNDEFINED:
        return None


def _number_of(program: Expression, probes: Sequence[Numbers]) -> int:
    """A number that is the same for equal functions; hashes of integers are the same in every process."""
    return hash(tuple(_NO_ANSWER if (y := answer_of(program, x)) is None else tuple(y) for x in probes))


def _examples(
    program: Expression, limits: Limits, count: int, dice: Dice
) -> list[tuple[Numbers, Numbers]] | None:
    """Examples with different inputs; None if the program is not worth learning."""
    inputs = Inputs(limits, dice, program.constants)
    found: dict[tuple[int, ...], Numbers] = {}
    for tried in range(_TRIES * count):
        x = inputs.draw()
        y = answer_of(program, x)
        if y is not None and limits.allow(y):
            found.setdefault(tuple(x), y)
        if tried == _TRIES * _FIRST and (len(found) < _FIRST or not _worth(found)):
            return None
        if len(found) == count:
            break
    if len(found) < count or not _worth(found):
        return None
    return [(list(x), y) for x, y in found.items()]


def _worth(found: dict[tuple[int, ...], Numbers]) -> bool:
    """Whether the answers differ from each other, or are all the same, and mostly differ from the inputs."""
    answers = Counter(tuple(y) for y in found.values())
    if answers.most_common(1)[0][1] > _MOST_ALIKE * len(found) and len(answers) > 1:
        return False
    return sum(x == tuple(y) for x, y in found.items()) <= _MOST_COPIED * len(found)
