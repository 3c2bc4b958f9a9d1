"""A family of tasks: every way to combine one primitive from each slot."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tam.tasks.rng import Rng
from tam.tasks.task import Classes, Integers, Sequences
from tam.tasks.vocabulary import Vocabulary

Recipe = tuple[int, ...]
"""A task, as the index of one primitive in each slot."""

Recipes = Integers
"""Many recipes: [tasks, slots]."""


class Answers(NamedTuple):
    """The answers of many tasks to the same inputs."""

    y: Integers  # [tasks, rows, width]: tokens, or one class; -1 after the end
    log_p: NDArray[np.float64]  # [tasks, rows]: log-probability that a task draws this input


class ExampleArrays(NamedTuple):
    """The examples of one task."""

    x: Sequences
    y: Classes | Sequences


class Family(ABC):
    """Base class of the benchmarks' generators.

    Attributes:
        vocabulary: The tokens of inputs and answers.
        slots: The names of the primitives of each slot.
        functions: A number for every recipe, one axis per slot: equal for the same task, -1 for no task.
        targets: Like `functions`, but equal for tasks with the same y for every input: a learner cannot
            tell them apart.
        weights: The probability of each recipe; None if every task is equally likely.
    """

    vocabulary: Vocabulary
    slots: tuple[tuple[str, ...], ...]
    functions: Integers
    targets: Integers
    weights: NDArray[np.float64] | None = None

    def title(self, recipe: Recipe) -> str:
        """The name of a task, as in the paper: `add 2 → replace 2 with 1 → reverse`."""
        return " → ".join(self.primitives(recipe))

    def primitives(self, recipe: Recipe) -> tuple[str, ...]:
        """The names of a task's primitives."""
        return tuple(slot[place] for slot, place in zip(self.slots, recipe, strict=True))

    @abstractmethod
    def examples(self, recipe: Recipe, count: int, rng: Rng) -> ExampleArrays:
        """Draw `count` examples of a task."""

    @abstractmethod
    def answers(self, recipes: Recipes, x: Integers) -> Answers:
        """The answers of many tasks to the same inputs, [rows, width]."""


class Pool(NamedTuple):
    """Recipes to draw from, with their task numbers and weights."""

    recipes: Recipes
    functions: Integers
    weights: NDArray[np.float64]


def pool(family: Family, allowed: Sequence[Integers], *, by_targets: bool = False) -> Pool:
    """Every recipe that is a task and uses only primitives in `allowed` (indices for each slot).

    Recipes count as the same task if their functions are equal or, with `by_targets`, their targets.
    """
    grid = np.ix_(*allowed)
    functions = (family.targets if by_targets else family.functions)[grid].reshape(-1)
    places = np.flatnonzero(functions >= 0)
    functions = functions[places]
    if family.weights is None:
        _, inverse, sizes = np.unique(functions, return_inverse=True, return_counts=True)
        weights = 1.0 / sizes[inverse]
    else:
        weights = family.weights[grid].reshape(-1)[places]
    columns = np.unravel_index(places, tuple(len(axis) for axis in allowed))
    recipes = [axis[column] for axis, column in zip(allowed, columns, strict=True)]
    return Pool(np.stack(recipes, axis=1), functions, weights)


def random_order(
    family: Family, allowed: Sequence[Integers], rng: Rng, *, by_targets: bool = False
) -> list[Recipe]:
    """Every task of `pool`, with one recipe each, drawn without replacement.

    Sorting by exponential times, whose rates are the weights, gives the same distribution as drawing
    recipes one after another and skipping tasks that were already drawn.
    """
    recipes, functions, weights = pool(family, allowed, by_targets=by_targets)
    order = np.argsort(rng.exponentials(len(functions)) / weights, kind="stable")
    _, first = np.unique(functions[order], return_index=True)
    return [tuple(recipe) for recipe in recipes[order[np.sort(first)]].tolist()]
