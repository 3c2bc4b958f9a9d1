"""Inputs for a program: lists whose style (large or small numbers, repeats) differs from task to task."""

from collections.abc import Sequence
from typing import NamedTuple

from tam.tasks.lists.grammar import Numbers
from tam.tasks.rng import Dice

_SMALL = 10
_TRIES = 900  # fewer would change the tasks of some options


class ListLimits(NamedTuple):
    """Limits on inputs and answers: numbers from 0 to `values` - 1, and lengths."""

    values: int
    shortest: int
    longest: int
    longest_answer: int

    def allow(self, y: Numbers) -> bool:
        """Whether an answer is within the limits."""
        return len(y) <= self.longest_answer and all(0 <= v < self.values for v in y)


class RandomLists:
    """Random lists of one style.

    Numbers are small (below 10), of any size, or a mix of both. They are all different, repeat by chance, or
    come from a few. Half of the lists have one of the given constants at a random place: a program that looks
    for a 7 shows what it does only on a list with a 7.

    If lists of different numbers would hardly ever be long enough, numbers repeat.
    """

    def __init__(self, limits: ListLimits, dice: Dice, constants: Sequence[int] = ()) -> None:
        self._limits, self._dice, self._constants = limits, dice, constants
        self._numbers = dice.pick(("small", "small", "mixed", "mixed", "mixed", "any"))
        self._repeats = dice.pick(("none", "none", "some", "few"))
        if limits.shortest > (min(_SMALL, limits.values) if self._numbers == "small" else limits.values):
            self._repeats = "some" if self._repeats == "none" else self._repeats

    def draw(self) -> Numbers:
        """A random list."""
        for _ in range(_TRIES):
            if len(x := self._try()) >= self._limits.shortest:
                return x
        self._repeats = "some"
        return self._try()

    def _try(self) -> Numbers:
        """A random list, which may be too short once repeats are removed."""
        dice, limits = self._dice, self._limits
        length = limits.shortest + dice.below(limits.longest - limits.shortest + 1)
        x = [self._number() for _ in range(length)]
        if self._repeats == "few" and length:
            few = x[: 1 + length // 3]
            x = [dice.pick(few) for _ in x]
        if self._constants and length and dice.below(2):
            x[dice.below(length)] = dice.pick(self._constants)
        if self._repeats == "none":
            x = list(dict.fromkeys(x))
        return x

    def _number(self) -> int:
        small = self._numbers == "small" or (self._numbers == "mixed" and self._dice.below(5) < 2)
        return self._dice.below(min(_SMALL, self._limits.values) if small else self._limits.values)
