"""A typed grammar of programs: forms with typed arguments, and random expressions made of them.

An `edit` turns a list into a list, a `measure` a list into a number, and a `change` a number into a number. A
`condition` is a predicate of lists, a `test` one of numbers. The other kinds are constants.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tam.tasks.rng import Dice

FormKind = Literal[
    "edit", "measure", "condition", "change", "test", "count", "place", "factor", "value", "values"
]
Numbers = list[int]

UNDEFINED = (IndexError, ValueError, ZeroDivisionError)
"""Exceptions of expressions without an answer to an input, such as the maximum of an empty list."""


class Form(NamedTuple):
    """A form of expression: its text, the kinds of its arguments, its function, and its weight in draws.

    `run` takes the list or the number first, then the arguments.
    """

    text: str
    takes: tuple[FormKind, ...]
    run: Callable[..., Any]
    weight: int = 2

    @property
    def is_leaf(self) -> bool:
        """Whether all arguments are constants."""
        return all(kind in _CONSTANTS for kind in self.takes)


class Expression(NamedTuple):
    """An expression: its text, its function (or value), and the constants in it."""

    text: str
    value: Any
    constants: tuple[int, ...] = ()


Forms = Mapping[str, Sequence[Form]]
"""The forms of each kind of expression."""


class Grammar:
    """The expressions that these forms can make, with constants from 0 to `values` - 1."""

    def __init__(self, forms: Forms, values: int) -> None:
        self._values = values
        # Each form occurs as often as its weight.
        self._any = {
            kind: [form for form in some for _ in range(form.weight)] for kind, some in forms.items()
        }
        self._leaves = {kind: [form for form in some if form.is_leaf] for kind, some in self._any.items()}

    def draw(self, kind: FormKind, depth: int, dice: Dice) -> Expression:
        """A random expression, nested at most `depth` deep."""
        if kind in _CONSTANTS:
            return _CONSTANTS[kind](dice, self._values)
        return self.fill(dice.pick((self._any if depth else self._leaves)[kind]), depth, dice)

    def fill(self, form: Form, depth: int, dice: Dice) -> Expression:
        """An expression of this form, with random arguments."""
        parts = [self.draw(kind, depth - 1, dice) for kind in form.takes]
        run, values = form.run, tuple(part.value for part in parts)
        return Expression(
            form.text.format(*(part.text for part in parts)),
            lambda x: run(x, *values),
            tuple(number for part in parts for number in part.constants),
        )


def _constant(number: int) -> Expression:
    return Expression(str(number), number)


def _value(dice: Dice, values: int) -> Expression:
    """A number that may occur in a list: half of the draws are below 10, the others below `values`."""
    number = dice.below(min(10, values)) if dice.below(2) else dice.below(values)
    return Expression(str(number), number, (number,))


def _list_of_values(dice: Dice, values: int) -> Expression:
    parts = [_value(dice, values) for _ in range(1 + min(dice.below(10), dice.below(10)))]
    numbers = [part.value for part in parts]
    return Expression(str(numbers), numbers)


_CONSTANTS: dict[str, Callable[[Dice, int], Expression]] = {
    "count": lambda dice, _: _constant(1 + min(dice.below(6), dice.below(6))),
    "place": lambda dice, _: _constant(1 + min(dice.below(9), dice.below(9))),  # counted from 1
    "factor": lambda dice, _: _constant(2 + min(dice.below(9), dice.below(9))),
    "value": _value,
    "values": _list_of_values,
}
