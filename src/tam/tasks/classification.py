"""Sequence classification: element-wise transform → subsequence → labelling function.

A task is `T1 → T2 → T3` on sequences of 5 integers in 0 … 11. Its 4 most frequent outputs are the
classes (ties: the smaller output is taken first), and class ids follow the value: the smallest of
the 4 outputs is class 0.
"""

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from itertools import combinations_with_replacement
from math import factorial
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from tam.errors import UserError
from tam.tasks.draws import Draws
from tam.tasks.family import Answers, Choice, Choices, Data
from tam.tasks.integers import ELEMENTWISE, INPUTS, LENGTH, VALUES, inputs, random_codes, rows
from tam.tasks.task import Classes, Integers, compact
from tam.tasks.vocabulary import Vocabulary

CLASSES = 4
DROPPED = UNDEFINED = OUTSIDE = -1
"""In a table of values: not in the subsequence. As an output: none. As a class: not one of the four."""

Same = Literal["classes", "outputs"]
"""What two tasks have in common, on every input, that count as the same."""

_LARGE = 1 << 20
_FIRST_LOOK = 8_192


def divisors(x: Integers) -> Integers:
    """How many divisors each number has; 0 counts as having none."""
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
    """Rows of values of which some are dropped, with what the labelling functions need of them."""

    def __init__(self, values: Integers) -> None:
        self.values = values  # [rows, 5]
        self.kept = values != DROPPED
        self.size = self.kept.sum(1)
        self.ordered = np.sort(np.where(self.kept, values, _LARGE), axis=1)

    def at(self, place: Integers) -> Integers:
        """The kept element at each row's `place`, counted in the original order."""
        here = self.kept & (self.kept.cumsum(1) == (place + 1)[:, None])
        return self.values[np.arange(len(self.values)), here.argmax(1)]

    def mode(self) -> Integers:
        """The smallest of the most frequent elements."""
        occurrences = (self.values[:, :, None] == self.values[:, None, :]).sum(2)
        score = np.where(self.kept, occurrences * _LARGE - self.values, 0)
        return self.values[np.arange(len(self.values)), score.argmax(1)]

    def median(self) -> Integers:
        """The middle of the sorted elements, the lower of two."""
        return self.ordered[np.arange(len(self.ordered)), np.maximum(self.size - 1, 0) // 2]

    def total(self) -> Integers:
        """The sum of the elements."""
        return np.where(self.kept, self.values, 0).sum(1)


SYMMETRIC: dict[str, Callable[[Subsequences], Integers]] = {
    "count": lambda s: s.size,
    "min": lambda s: s.ordered[:, 0],
    "max": lambda s: s.values.max(1),
    "mean": lambda s: s.total() // np.maximum(s.size, 1),
    "median": lambda s: s.median(),
    "mode": lambda s: s.mode(),
    "max-min": lambda s: s.values.max(1) - s.ordered[:, 0],
}
"""Labelling functions that see only which values there are, not their order."""

POSITIONAL: dict[str, Callable[[Subsequences], Integers]] = {
    "first": lambda s: s.at(np.zeros_like(s.size)),
    "last": lambda s: s.at(s.size - 1),
    "middle": lambda s: s.at((s.size - 1) // 2),
}

LABELLING = SYMMETRIC | POSITIONAL


def outputs(label: str, values: Integers) -> Integers:
    """The output of a labelling function on every row; UNDEFINED where nothing is left to label."""
    return _defined(label, Subsequences(values), LABELLING[label])


def _defined(label: str, parts: Subsequences, function: Callable[[Subsequences], Integers]) -> Integers:
    raw = function(parts)
    return raw if label == "count" else np.where(parts.size > 0, raw, UNDEFINED)


def to_classes(values: Integers, top: Integers) -> Integers:
    """The class id of each output; OUTSIDE where it is not one of the classes."""
    table = np.full(max(int(values.max(initial=0)), int(top.max())) + 2, OUTSIDE)
    table[top] = np.arange(len(top))
    return table[values]  # -1, undefined, reads the last place


class _Catalogue(NamedTuple):
    """What is known of every choice of primitives."""

    functions: dict[Same, Integers]  # [T1, T2, T3]
    tops: Integers  # [T1, T2, T3, classes]
    sizes: Integers  # [T1, T2, T3, classes]


class ClassificationFamily:
    """All tasks with parameters in 1 … n.

    Args:
        n: the largest parameter v of a primitive.
        same: which tasks `functions` takes for the same: those with equal `classes` on every input,
            or with equal `outputs`.
    """

    def __init__(self, n: int, same: Same) -> None:
        self.n = n
        self.same: Same = same
        self.vocabulary = Vocabulary(range(VALUES))
        self.weights = None
        parameters = range(1, n + 1)
        self.slots = (
            tuple(f"{name} {v}" for name in ELEMENTWISE for v in parameters),
            tuple(name.format(v) for name in SUBSEQUENCE for v in parameters),
            tuple(LABELLING),
        )

    @cached_property
    def tables(self) -> Integers:
        """What `T1 → T2` makes of each value, DROPPED if it leaves it out: [T1, T2, values]."""
        parameters = range(1, self.n + 1)
        rows = [op(np.arange(VALUES), v) for op in ELEMENTWISE.values() for v in parameters]
        return np.array(
            [
                [np.where(keep(x, v), x, DROPPED) for keep in SUBSEQUENCE.values() for v in parameters]
                for x in rows
            ]
        )

    @property
    def functions(self) -> Integers:
        """See `Family.functions`; exact over all 12⁵ inputs."""
        return self._catalogue.functions[self.same]

    @property
    def targets(self) -> Integers:
        """See `Family.targets`; exact over all 12⁵ inputs."""
        return self._catalogue.functions["classes"]

    @property
    def tops(self) -> Integers:
        """The outputs that are the classes of each choice, smallest first: [T1, T2, T3, classes]."""
        return self._catalogue.tops

    @property
    def sizes(self) -> Integers:
        """How many of the 12⁵ inputs each class of each choice has: [T1, T2, T3, classes]."""
        return self._catalogue.sizes

    @cached_property
    def _catalogue(self) -> _Catalogue:
        tables, inverse = np.unique(self.tables.reshape(-1, VALUES), axis=0, return_inverse=True)
        shape = (len(tables), len(LABELLING))
        functions: dict[Same, Integers] = {same: np.full(shape, -1) for same in get_args(Same)}
        numbers: dict[Same, dict[bytes, int]] = {same: {} for same in functions}
        tops, sizes = (np.zeros((*shape, CLASSES), dtype=np.int64) for _ in range(2))
        for place, table in enumerate(tables):
            for column, profile in enumerate(_profiles(table)):
                top, size = profile.top()
                if len(top) == CLASSES:
                    tops[place, column], sizes[place, column] = top, size
                    for same, known in numbers.items():
                        number = known.setdefault(profile.key(same, top), len(known))
                        functions[same][place, column] = number
        axes = tuple(len(slot) for slot in self.slots)
        spread = inverse.reshape(-1)
        return _Catalogue(
            {same: found[spread].reshape(axes) for same, found in functions.items()},
            tops[spread].reshape(*axes, CLASSES),
            sizes[spread].reshape(*axes, CLASSES),
        )

    def title(self, choice: Choice) -> str:
        """Like the paper: `mul 2 → not greater than 5 → count`."""
        return " → ".join(slot[place] for slot, place in zip(self.slots, choice, strict=True))

    def classify(self, choice: Choice, x: Integers) -> Integers:
        """The class of each input (a row of 5 values) in this task, OUTSIDE if it has none."""
        first, second, third = choice
        raw = outputs(self.slots[2][third], self.tables[first, second][x])
        return to_classes(raw, self.tops[choice])

    def answers(self, choices: Choices, x: Integers) -> Answers:
        """See `Family.answers`: an input is drawn from its class, and every class equally often."""
        found = np.empty((len(choices), len(x)), dtype=np.int64)
        for column, label in enumerate(self.slots[2]):
            members = np.flatnonzero(choices[:, 2] == column)
            tables = self.tables[choices[members, 0], choices[members, 1]]
            raw = outputs(label, tables[:, x].reshape(-1, LENGTH)).reshape(len(members), len(x), 1)
            hits = raw == self.tops[tuple(choices[members].T)][:, None, :]
            found[members] = np.where(hits.any(2), hits.argmax(2), OUTSIDE)
        sizes = self.sizes[tuple(choices.T)]
        with np.errstate(divide="ignore"):
            log_p = np.log(np.where(found == OUTSIDE, 0, 1 / np.take_along_axis(sizes, found, axis=1)))
        return Answers(found[:, :, None], log_p)

    def examples(self, choice: Choice, count: int, draws: Draws) -> Data:
        """`count` different inputs, the same number of every class, in random order."""
        return _balanced(lambda x: self.classify(choice, x), count, draws)


class _Profile(NamedTuple):
    """The outputs of a labelling function on a domain that determines it."""

    name: bytes
    values: Integers
    frequency: Integers  # of the 12⁵ inputs, how many behave like each member of the domain
    dropped: bytes = b""

    def top(self) -> tuple[Integers, Integers]:
        """The most frequent outputs, smallest first, and how many inputs each has."""
        defined = self.values >= 0
        counts = np.bincount(self.values[defined], self.frequency[defined]).astype(np.int64)
        order = np.lexsort((np.arange(len(counts)), -counts))[:CLASSES]
        top = np.sort(order[counts[order] > 0])
        return top, counts[top]

    def key(self, same: Same, top: Integers) -> bytes:
        """Equal for two functions just if they are the same task."""
        what = self.values if same == "outputs" else to_classes(self.values, top)
        return self.name + what.astype(np.int16).tobytes() + self.dropped


def _profiles(table: Integers) -> Iterator[_Profile]:
    """Every labelling function after `T1 → T2` with this table, in the order of `LABELLING`.

    A symmetric function is determined by its outputs on the 4 368 multisets of values. A positional
    one picks an element, each kept value equally often. It is determined by the table, and two of
    them are the same task only if their tables agree: (v, v, v, v, v) shows the class of v, and with
    another value w that has a class, (v, v, v, w, w) or its reverse shows whether v is dropped.
    """
    multisets, frequency = _multisets()
    parts = Subsequences(table[multisets])
    for label, function in SYMMETRIC.items():
        yield _Profile(b"symmetric", _defined(label, parts, function), frequency)
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


def _balanced(classify: Callable[[Integers], Integers], count: int, draws: Draws) -> Data:
    """Different inputs drawn uniformly, equally many of every class."""
    each = -(-count // CLASSES)
    chosen = _first_of_each(classify, random_codes(_FIRST_LOOK, draws), each)
    if min(map(len, chosen)) < each:  # a rare class: look at every input there is
        chosen = _first_of_each(classify, draws.permutation(INPUTS), each)
        if (least := min(map(len, chosen))) < each:
            raise UserError(f"{count} examples were asked for, {each} of each class, but a class has {least}")
    ids = np.repeat(np.arange(CLASSES), each)
    order = draws.permutation(len(ids))[:count]
    classes = Classes(compact(ids[order], CLASSES - 1), tuple(range(CLASSES)))
    return Data(rows(inputs(np.concatenate(chosen)[order])), classes)


def _first_of_each(classify: Callable[[Integers], Integers], codes: Integers, each: int) -> list[Integers]:
    found = classify(inputs(codes))
    return [codes[found == number][:each] for number in range(CLASSES)]
