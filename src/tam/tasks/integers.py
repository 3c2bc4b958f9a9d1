"""Sequences of 5 integers in 0 … 11: the inputs of classification and transduction."""

from collections.abc import Callable

import numpy as np

from tam.tasks.rng import Rng
from tam.tasks.task import Integers, Sequences, compact

VALUES, LENGTH = 12, 5
INPUTS = VALUES**LENGTH

ELEMENTWISE: dict[str, Callable[[Integers, int], Integers]] = {
    "mul": lambda x, v: x * v,
    "add": lambda x, v: x + v,
    "div": lambda x, v: x // v,
    "mod": lambda x, v: x % v,
}
"""S1, the first slot of both benchmarks; div is integer division, mod the remainder."""


def inputs(codes: Integers) -> Integers:
    """Decode sequences from numbers in base 12: [rows] to [rows, 5]."""
    return codes[:, None] // VALUES ** np.arange(LENGTH)[::-1] % VALUES


def random_codes(count: int, rng: Rng) -> Integers:
    """The distinct codes among `count` uniform draws, in the order drawn."""
    return _distinct(rng.integers(INPUTS, count))


def random_inputs(count: int, rng: Rng) -> Integers:
    """`count` distinct sequences, drawn uniformly; at most `INPUTS`."""
    spare = count + count * count // INPUTS + 16
    codes = random_codes(spare, rng)
    while len(codes) < count:
        codes = _distinct(np.concatenate([codes, random_codes(spare, rng)]))
    return inputs(codes[:count])


def _distinct(codes: Integers) -> Integers:
    return codes[np.sort(np.unique(codes, return_index=True)[1])]


def rows(x: Integers) -> Sequences:
    """Convert inputs, [rows, 5], to the sequences of a task."""
    return Sequences(compact(x, VALUES - 1), compact(np.full(len(x), LENGTH), LENGTH))
