"""Sequence classification: element-wise transform → subsequence → labelling function.

A task is `T1 → T2 → T3` on sequences of 5 integers in 0 … 11. Its 4 most frequent outputs are the
classes (ties: the smaller output is taken first), and class ids follow the value: the smallest of
the 4 outputs is class 0.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations_with_replacement
from math import factorial
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from tam.errors import SettingError
from tam.tasks.family import Answers, ExampleArrays, Family, Recipe, Recipes
from tam.tasks.integers import ELEMENTWISE, INPUTS, LENGTH, VALUES, inputs, random_codes, rows
from tam.tasks.rng import Rng
from tam.tasks.task import Classes, Integers, compact
from tam.tasks.vocabulary import Vocabulary

CLASSES = 4
DROPPED = UNDEFINED = OUTSIDE = -1
"""For a value: not in the subsequence. For an output: undefined. For a class: not one of the four."""

Same = Literal["classes", "outputs"]
"""Two tasks are the same if these are equal on every input."""

_LARGE = 1 << 20
_FIRST_DRAW = 8_192


def divisors(x: Integers) -> Integers:
    """The number of divisors of each number; 0 counts as having none."""
    candidates = np.arange(1, int(x.max(initial=1)) + 1)
    return ((x[..., None] % candidates == 0) & (candidates <= x[..., None])).sum(-1)


SUBSEQUENCE: dict[str, Callable[[Integers, int], NDArray[np.bool_]]] = {
    "multiple of {}": lambda x, v: x % v == 0,
    "not multiple of {}": lambda x, v: x % v != 0,
    "greater than {}": lambda x, v: x > v,
    "not greater than {}": lambda x, v: x <= v,
    "have exactly {} divisors": lambda x, v: divisors(x) == v,
    "do not have exactly {} divisors": lambda x, v: divisors(x) != v,
}


class Subsequences:
    """Rows of values, some of them dropped, as labelling functions read them."""

    def __init__(self, values: Integers) -> None:
        self.values = values  # [rows, 5]
        self.kept = values != DROPPED
        self.size = self.kept.sum(1)
        self.ordered = np.sort(np.where(self.kept, values, _LARGE), axis=1)

    def at(self, place: Integers) -> Integers:
        """The kept element at position `place` of each row, in the original order."""
        here = self.kept & (self.kept.cumsum(1) == (place + 1)[:, None])
        return _pick(self.values, here.argmax(1))

    def mode(self) -> Integers:
        """The smallest of the most frequent elements."""
        occurrences = (self.values[:, :, None] == self.values[:, None, :]).sum(2)
        score = np.where(self.kept, occurrences * _LARGE - self.values, 0)
        return _pick(self.values, score.argmax(1))


def _pick(rows: Integers, places: Integers) -> Integers:
    return rows[np.arange(len(rows)), places]


SYMMETRIC: dict[str, Callable[[Subsequences], Integers]] = {
    "count": lambda s: s.size,
    "min": lambda s: s.ordered[:, 0],
    "max": lambda s: s.values.max(1),
    "mean": lambda s: np.where(s.kept, s.values, 0).sum(1) // np.maximum(s.size, 1),
    "median": lambda s: _pick(s.ordered, np.maximum(s.size - 1, 0) // 2),  # the lower of two
    "mode": lambda s: s.mode(),
    "max-min": lambda s: s.values.max(1) - s.ordered[:, 0],
}
"""Labelling functions that do not depend on the order of the values."""

POSITIONAL: dict[str, Callable[[Subsequences], Integers]] = {
    "first": lambda s: s.at(np.zeros_like(s.size)),
    "last": lambda s: s.at(s.size - 1),
    "middle": lambda s: s.at((s.size - 1) // 2),
}

LABELLING = SYMMETRIC | POSITIONAL


def outputs(label: str, parts: Subsequences) -> Integers:
    """The output of a labelling function on every row; UNDEFINED for an empty subsequence."""
    raw = LABELLING[label](parts)
    return raw if label == "count" else np.where(parts.size > 0, raw, UNDEFINED)


def to_classes(values: Integers, top: Integers) -> Integers:
    """The class id of each output; OUTSIDE where it is not one of the classes."""
    table = np.full(max(int(values.max(initial=0)), int(top.max())) + 2, OUTSIDE)
    table[top] = np.arange(len(top))
    return table[values]  # UNDEFINED = -1 reads the last entry, which is OUTSIDE


class ClassificationFamily(Family):
    """All tasks with parameters in 1 … n.

    Args:
        n: The largest parameter v of a primitive.
        same: What must be equal on every input for two tasks to have the same number in `functions`.

    Attributes:
        tables: The value that `T1 → T2` maps each value to, or DROPPED: [T1, T2, values].
        tops: The outputs that are each recipe's classes, smallest first: [T1, T2, T3, classes].
        sizes: The number of inputs, of 12⁵, in each class of each recipe: [T1, T2, T3, classes].
    """

    def __init__(self, n: int, same: Same) -> None:
        self.vocabulary = Vocabulary(range(VALUES))
        v_range = range(1, n + 1)
        values = np.arange(VALUES)
        transformed = {f"{name} {v}": op(values, v) for name, op in ELEMENTWISE.items() for v in v_range}
        filters = {name.format(v): (keep, v) for name, keep in SUBSEQUENCE.items() for v in v_range}
        self.slots = (tuple(transformed), tuple(filters), tuple(LABELLING))
        self.tables: Integers = np.array(
            [[np.where(keep(x, v), x, DROPPED) for keep, v in filters.values()] for x in transformed.values()]
        )
        numbers, self.tops, self.sizes = _catalogue(self.tables)
        self.functions, self.targets = numbers[same], numbers["classes"]

    def classify(self, recipe: Recipe, x: Integers) -> Integers:
        """The class of each input [rows, 5] in this task, or OUTSIDE."""
        first, second, third = recipe
        raw = outputs(self.slots[2][third], Subsequences(self.tables[first, second][x]))
        return to_classes(raw, self.tops[recipe])

    def answers(self, recipes: Recipes, x: Integers) -> Answers:
        """See `Family.answers`: classes are equally likely, and so are the inputs of a class."""
        classes = np.empty((len(recipes), len(x)), dtype=np.int64)
        for column, label in enumerate(self.slots[2]):
            members = np.flatnonzero(recipes[:, 2] == column)
            tables = self.tables[recipes[members, 0], recipes[members, 1]]
            parts = Subsequences(tables[:, x].reshape(-1, LENGTH))
            raw = outputs(label, parts).reshape(len(members), len(x), 1)
            hits = raw == self.tops[tuple(recipes[members].T)][:, None, :]
            classes[members] = np.where(hits.any(2), hits.argmax(2), OUTSIDE)
        sizes = self.sizes[tuple(recipes.T)]
        with np.errstate(divide="ignore"):
            log_p = np.log(np.where(classes == OUTSIDE, 0, 1 / np.take_along_axis(sizes, classes, axis=1)))
        return Answers(classes[:, :, None], log_p)

    def examples(self, recipe: Recipe, count: int, rng: Rng) -> ExampleArrays:
        """`count` distinct inputs, equally many of every class, in random order."""
        each = -(-count // CLASSES)
        chosen = self._first_of_each(recipe, random_codes(_FIRST_DRAW, rng), each)
        if min(map(len, chosen)) < each:  # a rare class: look at all inputs
            chosen = self._first_of_each(recipe, rng.permutation(INPUTS), each)
            if (most := min(map(len, chosen))) < each:
                raise SettingError(
                    f"examples must be at most {CLASSES * most} for {self.title(recipe)!r}: got {count}"
                )
        ids = np.repeat(np.arange(CLASSES), each)
        order = rng.permutation(len(ids))[:count]
        classes = Classes(compact(ids[order], CLASSES - 1), tuple(range(CLASSES)))
        return ExampleArrays(rows(inputs(np.concatenate(chosen)[order])), classes)

    def _first_of_each(self, recipe: Recipe, codes: Integers, each: int) -> list[Integers]:
        classes = self.classify(recipe, inputs(codes))
        return [codes[classes == number][:each] for number in range(CLASSES)]


class _Profile(NamedTuple):
    """The outputs of a labelling function on inputs that determine it."""

    name: bytes
    values: Integers
    frequency: Integers  # the number of the 12⁵ inputs that each of these represents
    dropped: bytes = b""

    def top(self) -> tuple[Integers, Integers]:
        """The most frequent outputs, smallest first, and the number of inputs of each."""
        defined = self.values >= 0
        counts = np.bincount(self.values[defined], self.frequency[defined]).astype(np.int64)
        order = np.lexsort((np.arange(len(counts)), -counts))[:CLASSES]
        top = np.sort(order[counts[order] > 0])
        return top, counts[top]

    def key(self, same: Same, top: Integers) -> bytes:
        """A key that two functions share if and only if they are the same task."""
        what = self.values if same == "outputs" else to_classes(self.values, top)
        return self.name + what.astype(np.int16).tobytes() + self.dropped


def _catalogue(tables: Integers) -> tuple[dict[Same, Integers], Integers, Integers]:
    """`functions` for each choice of `same`, `tops` and `sizes` of a family."""
    distinct, inverse = np.unique(tables.reshape(-1, VALUES), axis=0, return_inverse=True)
    shape = (len(distinct), len(LABELLING))
    functions: dict[Same, Integers] = {same: np.full(shape, -1) for same in get_args(Same)}
    known: dict[Same, dict[bytes, int]] = {same: {} for same in functions}
    tops, sizes = (np.zeros((*shape, CLASSES), dtype=np.int64) for _ in range(2))
    for place, table in enumerate(distinct):
        for column, profile in enumerate(_profiles(table)):
            top, size = profile.top()
            if len(top) == CLASSES:
                tops[place, column], sizes[place, column] = top, size
                for same, numbers in known.items():
                    functions[same][place, column] = numbers.setdefault(profile.key(same, top), len(numbers))
    inverse = inverse.reshape(tables.shape[:2])
    return {same: numbers[inverse] for same, numbers in functions.items()}, tops[inverse], sizes[inverse]


def _profiles(table: Integers) -> Iterator[_Profile]:
    """Yield every labelling function after `T1 → T2` with this table, in the order of `LABELLING`.

    A symmetric function is determined by its outputs on the 4 368 multisets of values. A positional
    one picks an element, each kept value equally often. It is determined by the table, and two of
    them are the same task only if their tables agree: (v, v, v, v, v) reveals the class of v, and with
    another value w that has a class, (v, v, v, w, w) or its reverse reveals whether v is dropped.
    """
    multisets, frequency = _multisets()
    parts = Subsequences(table[multisets])
    for label in SYMMETRIC:
        yield _Profile(b"symmetric", outputs(label, parts), frequency)
    kept = table != DROPPED
    size = int(kept.sum())
    each = (INPUTS - (VALUES - size) ** LENGTH) // max(size, 1)
    for label in POSITIONAL:
        yield _Profile(label.encode(), table, np.full(VALUES, each), kept.tobytes())


@cache
def _multisets() -> tuple[Integers, Integers]:
    members = np.array(list(combinations_with_replacement(range(VALUES), LENGTH)))
    repeats = (members[:, :, None] == np.arange(VALUES)).sum(1)
    orders = factorial(LENGTH) // np.array([factorial(i) for i in range(LENGTH + 1)])[repeats].prod(1)
    return members, orders
