"""Sequence transduction: element-wise transform → replacement → rearrangement.

A task is `T1 → T2 → T3` on sequences of 5 integers in 0 … 11. Numbers are taken modulo 12 after T1
and after T2, so that answers stay in the vocabulary.
"""

from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np

from tam.tasks.family import Answers, ExampleArrays, Family, Recipe, Recipes
from tam.tasks.integers import ELEMENTWISE, LENGTH, VALUES, random_inputs, rows
from tam.tasks.rng import Rng
from tam.tasks.task import Integers
from tam.tasks.vocabulary import Vocabulary

PARAMETERS = range(1, 6)
FACTORS, CONSTANTS = range(1, 4), range(5)
_PROBES = 512
_MANY = 1_000  # for more tasks than this, it is faster to compute the answers of all tasks

Rule = Callable[[Integers], Integers]
"""The function of a primitive: [rows, 5] to [rows, 5]."""

_Form = dict[str, Rule]
"""Primitives by name that differ only in their parameters."""

Operation = list[_Form]
"""An operation has one form, except `replace x_i with f(x_i, x_j)`, which has one for each f."""


def elementwise_operations() -> list[Operation]:
    """S1: `mul v`, `add v`, `div v`, `mod v`."""
    return [
        [{f"{name} {v}": lambda x, op=op, v=v: op(x, v) % VALUES for v in PARAMETERS}]
        for name, op in ELEMENTWISE.items()
    ]


def replacement_operations() -> list[Operation]:
    """S2: `replace v with v'` and `replace x_i with f(x_i, x_j)`, positions counted from 1."""
    values: _Form = {
        f"replace {v} with {w}": lambda x, v=v, w=w: np.where(x == v, w, x)
        for v, w in permutations(range(VALUES), 2)
    }
    linear = {
        f"replace x{i + 1} with {_linear(a, i, b)}": _put(i, lambda x, i=i, a=a, b=b: a * x[:, i] + b)
        for i in range(LENGTH)
        for a in FACTORS
        for b in CONSTANTS
        if (a, b) != (1, 0)
    }
    pairs = list(permutations(range(LENGTH), 2))
    copy = {f"replace x{i + 1} with x{j + 1}": _put(i, lambda x, j=j: x[:, j]) for i, j in pairs}
    difference = {
        f"replace x{i + 1} with |x{i + 1} - x{j + 1}|": _put(i, lambda x, i=i, j=j: abs(x[:, i] - x[:, j]))
        for i, j in pairs
    }
    total = {
        f"replace x{i + 1} with x{i + 1} + x{j + 1}": _put(i, lambda x, i=i, j=j: x[:, i] + x[:, j])
        for i, j in pairs
    }
    return [[values], [linear, copy, difference, total]]


def rearrangement_operations() -> list[Operation]:
    """S3: sorting, reversing, swapping two positions, rotating right."""
    return [
        [{"sort ascending": lambda x: np.sort(x, axis=1)}],
        [{"sort descending": lambda x: np.sort(x, axis=1)[:, ::-1]}],
        [{"reverse": lambda x: x[:, ::-1]}],
        [{f"swap x{i + 1} and x{j + 1}": _swap(i, j) for i, j in combinations(range(LENGTH), 2)}],
        [{f"shift right {v}": lambda x, v=v: np.roll(x, v, axis=1) for v in range(1, LENGTH)}],
    ]


def _linear(factor: int, place: int, constant: int) -> str:
    term = f"x{place + 1}" if factor == 1 else f"{factor}·x{place + 1}"
    return f"{term} + {constant}" if constant else term


def _put(place: int, value: Rule) -> Rule:
    def rule(x: Integers) -> Integers:
        y = x.copy()
        y[:, place] = value(x) % VALUES
        return y

    return rule


def _swap(i: int, j: int) -> Rule:
    order = list(range(LENGTH))
    order[i], order[j] = j, i
    return lambda x: x[:, order]


class TransductionFamily(Family):
    """All tasks of the benchmark.

    An operation is drawn first, then one of its forms, then the parameters, each uniformly.
    """

    def __init__(self) -> None:
        self.vocabulary = Vocabulary(range(VALUES))
        slots = (elementwise_operations(), replacement_operations(), rearrangement_operations())
        forms = [[(form, 1 / (len(slot) * len(op))) for op in slot for form in op] for slot in slots]
        self.slots = tuple(tuple(name for form, _ in slot for name in form) for slot in forms)
        self.rules = tuple([rule for form, _ in slot for rule in form.values()] for slot in forms)
        first, second, third = (
            np.array([share / len(form) for form, share in slot for _ in form]) for slot in forms
        )
        self.weights = first[:, None, None] * second[:, None] * third
        self.functions = self.targets = self._functions()

    def _functions(self) -> Integers:
        """See `Family.functions`: tasks are the same if they give the same answers to random probes.

        The tests check that the probes tell apart all tasks that differ on any input.
        """
        numbers: dict[bytes, int] = {}
        probed = self._every(random_inputs(_PROBES, Rng("transduction probes")))
        shape = tuple(len(slot) for slot in self.slots)
        flat = [numbers.setdefault(probed[place].tobytes(), len(numbers)) for place in np.ndindex(shape)]
        return np.array(flat).reshape(shape)

    def _every(self, x: Integers) -> Integers:
        """The answers of every task to these inputs: [T1, T2, T3, rows, 5]."""
        y: Integers = x.astype(np.int8)
        for rules in self.rules:
            flat = y.reshape(-1, LENGTH)
            y = np.stack([rule(flat).reshape(y.shape) for rule in rules], axis=-3)
        return y

    def answers(self, recipes: Recipes, x: Integers) -> Answers:
        """See `Family.answers`: every task draws all inputs with the same probability."""
        if len(recipes) > _MANY:
            y = self._every(x)[tuple(recipes.T)]
        else:
            y = np.stack([self.answer(tuple(recipe), x) for recipe in recipes.tolist()])
        return Answers(y, np.zeros(y.shape[:2]))

    def answer(self, recipe: Recipe, x: Integers) -> Integers:
        """The answers of one task to these inputs: [rows, 5] to [rows, 5]."""
        y = x.astype(np.int64)
        for rules, place in zip(self.rules, recipe, strict=True):
            y = rules[place](y)
        return y

    def examples(self, recipe: Recipe, count: int, rng: Rng) -> ExampleArrays:
        """`count` distinct inputs, drawn uniformly, with their answers."""
        x = random_inputs(count, rng)
        return ExampleArrays(rows(x), rows(self.answer(recipe, x)))
