"""Drawing tasks from a family: a made-up one of 2 × 3 recipes, small enough to count by hand."""

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from tam.tasks.family import Answers, ExampleArrays, Family, Recipe, Recipes, pool, random_order
from tam.tasks.rng import Rng
from tam.tasks.task import Integers
from tam.tasks.vocabulary import Vocabulary

EVERYTHING = (np.arange(2), np.arange(3))


class Tiny(Family):
    """Three tasks: 7 has two recipes, 3 as well, and one recipe is no task; 7 and 3 have the same targets."""

    vocabulary = Vocabulary(range(2))
    slots = (("a", "b"), ("x", "y", "z"))
    functions = np.array([[7, 7, 3], [-1, 3, 5]])
    targets = np.array([[1, 1, 1], [-1, 1, 2]])

    def __init__(self, weights: NDArray[np.float64] | None = None) -> None:
        self.weights = weights

    def examples(self, recipe: Recipe, count: int, rng: Rng) -> ExampleArrays:
        raise AssertionError("nobody asks for this here")

    def answers(self, recipes: Recipes, x: Integers) -> Answers:
        raise AssertionError("nobody asks for this here")


@pytest.mark.parametrize(
    ("by_targets", "numbers", "expected"),
    [(False, [7, 7, 3, 3, 5], [0.5] * 4), (True, [1, 1, 1, 1, 2], [0.25] * 4)],
)
def test_pool_has_every_recipe_that_is_a_task(
    by_targets: bool, numbers: list[int], expected: list[float]
) -> None:
    recipes, functions, weights = pool(Tiny(), EVERYTHING, by_targets=by_targets)
    assert recipes.tolist() == [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2]]
    assert functions.tolist() == numbers
    assert weights.tolist() == [*expected, 1]


def test_pool_of_some_primitives() -> None:
    family = Tiny(np.array([[1.0, 2, 3], [4, 5, 6]]))
    recipes, functions, weights = pool(family, (np.array([1]), np.array([0, 2])))
    assert (recipes.tolist(), functions.tolist(), weights.tolist()) == ([[1, 2]], [5], [6.0])
    recipes, functions, weights = pool(family, (np.array([0, 1]), np.array([2, 1])))
    assert recipes.tolist() == [[0, 2], [0, 1], [1, 2], [1, 1]]
    assert weights.tolist() == [3, 2, 6, 5]


@pytest.mark.parametrize(
    ("weights", "shares", "second"),
    [
        (None, {7: 1 / 3, 3: 1 / 3, 5: 1 / 3}, 1 / 2),
        ([[1, 3, 1], [9, 2, 3]], {7: 4 / 10, 3: 3 / 10, 5: 3 / 10}, 3 / 4),
    ],
)
def test_tasks_are_drawn_by_weight_without_replacement(
    weights: list[list[float]] | None, shares: dict[int, float], second: float
) -> None:
    """So are the recipes of a task; `second` is the share of the second of two."""
    family = Tiny(None if weights is None else np.array(weights, dtype=np.float64))
    orders = [random_order(family, EVERYTHING, Rng("race", number)) for number in range(6_000)]
    numbers = [[int(family.functions[recipe]) for recipe in order] for order in orders]
    assert all(sorted(order) == [3, 5, 7] for order in numbers)
    first = Counter(order[0] for order in numbers)
    for number, share in shares.items():
        assert first[number] / len(orders) == pytest.approx(share, abs=0.025)
    chosen = Counter(recipe for order in orders for recipe in order if recipe[0] == 0 and recipe[1] < 2)
    assert chosen[0, 1] / chosen.total() == pytest.approx(second, abs=0.02)
    after_seven = Counter(order[1] for order in numbers if order[0] == 7)
    expected = shares[3] / (shares[3] + shares[5])
    assert after_seven[3] / after_seven.total() == pytest.approx(expected, abs=0.04)
