"""Classification against the paper in plain Python: no numpy, no shortcuts, one input at a time."""

import operator
import statistics
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import combinations_with_replacement, product
from math import inf, isclose, log

import numpy as np
import pytest

from tam.errors import UserError
from tam.tasks.classification import LABELLING, ClassificationFamily, Same, Subsequences, outputs
from tam.tasks.family import Recipe
from tam.tasks.integers import inputs, random_inputs
from tam.tasks.rng import Rng
from tam.tasks.task import Classes

pytestmark = pytest.mark.slow

EVERYTHING = list(product(range(12), repeat=5))
GOLDEN = "mul 2 → not greater than 5 → count"

# The oracle: the tables of the paper's appendix, read by name.


TRANSFORMS = {"mul": operator.mul, "add": operator.add, "div": operator.floordiv, "mod": operator.mod}


def transform(primitive: str, value: int) -> int:
    name, v = primitive.split()
    return TRANSFORMS[name](value, int(v))


def extracts(primitive: str, value: int) -> bool:
    positive = primitive.removeprefix("do not ").removeprefix("not ")
    match positive.split():
        case ["multiple", "of", v]:
            holds = any(int(v) * factor == value for factor in range(value + 1))
        case ["greater", "than", v]:
            holds = value > int(v)
        case ["have", "exactly", v, "divisors"]:
            holds = len([d for d in range(1, value + 1) if value % d == 0]) == int(v)
        case _:
            raise AssertionError(primitive)
    return holds if positive == primitive else not holds


LABELS: dict[str, Callable[[list[int]], int]] = {
    "count": len,
    "min": min,
    "max": max,
    "mean": lambda values: sum(values) // len(values),
    "median": statistics.median_low,
    "mode": lambda values: min(statistics.multimode(values)),
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "max-min": lambda values: max(values) - min(values),
    "middle": lambda values: values[(len(values) - 1) // 2],
}


def label(primitive: str, values: list[int]) -> int | None:
    """None where it is undefined."""
    return LABELS[primitive](values) if values or primitive == "count" else None


def oracle(title: str, x: tuple[int, ...]) -> int | None:
    first, second, third = title.split(" → ")
    transformed = [transform(first, value) for value in x]
    return label(third, [value for value in transformed if extracts(second, value)])


def oracle_frequencies(title: str, domain: list[tuple[int, ...]] = EVERYTHING) -> Counter[int]:
    """How many inputs have each output."""
    first, second, third = title.split(" → ")
    transformed = [transform(first, value) for value in range(12)]
    kept = [extracts(second, value) for value in transformed]
    found = Counter(label(third, [transformed[v] for v in x if kept[v]]) for x in domain)
    return Counter({output: count for output, count in found.items() if output is not None})


def oracle_classes(frequencies: Counter[int]) -> list[int]:
    """The four most frequent outputs, the smaller taken first among equals; the smallest is class 0."""
    return sorted(sorted(frequencies, key=lambda output: (-frequencies[output], output))[:4])


# What is tested.


@cache
def family(n: int, same: Same = "classes") -> ClassificationFamily:
    return ClassificationFamily(n, same)


def recipe_of(made: ClassificationFamily, title: str) -> Recipe:
    names = title.split(" → ")
    return tuple(slot.index(name) for slot, name in zip(made.slots, names, strict=True))


def sample(made: ClassificationFamily, count: int, *, tasks: bool = True) -> list[Recipe]:
    """Random recipes that are tasks, or that are not."""
    places = np.argwhere((made.functions >= 0) == tasks)
    order = Rng("sample", count, int(tasks)).permutation(len(places))[:count]
    return [tuple(recipe) for recipe in places[order].tolist()]


def test_primitives_are_those_of_the_paper() -> None:
    numbers = range(1, 6)
    kinds = ["multiple of {}", "greater than {}", "have exactly {} divisors"]
    negated = ["not multiple of {}", "not greater than {}", "do not have exactly {} divisors"]
    first, second, third = family(5).slots
    assert sorted(first) == sorted(f"{name} {v}" for name in ("mul", "add", "div", "mod") for v in numbers)
    assert sorted(second) == sorted(kind.format(v) for kind in kinds + negated for v in numbers)
    assert sorted(third) == sorted(LABELS)
    assert family(5).vocabulary.tokens == tuple(range(12))


def test_every_first_and_second_primitive_on_every_value() -> None:
    made = family(15, "outputs")
    assert made.tables.shape == (60, 90, 12)
    for row, first in zip(made.tables.tolist(), made.slots[0], strict=True):
        transformed = [transform(first, value) for value in range(12)]
        expected = [
            [value if extracts(second, value) else -1 for value in transformed] for second in made.slots[1]
        ]
        assert row == expected, first


@pytest.mark.parametrize("name", LABELLING)
def test_labelling_functions(name: str) -> None:
    """On all short subsequences of small values, and on random large ones."""
    large = Rng("labelling").integers(167, 5 * 500).reshape(-1, 5) - 1
    rows = [*product((-1, 0, 1, 2, 3), repeat=5), *large.tolist()]
    expected = [label(name, [value for value in row if value >= 0]) for row in rows]
    found = outputs(name, Subsequences(np.array(rows)))
    assert found.tolist() == [-1 if y is None else y for y in expected]


@pytest.mark.parametrize("number", range(3))
def test_classes_and_their_sizes_by_brute_force(number: int) -> None:
    made = family(11)
    recipe = sample(made, 5)[number]
    title = made.title(recipe)
    frequencies = oracle_frequencies(title)
    top = oracle_classes(frequencies)
    assert made.tops[recipe].tolist() == top
    assert made.sizes[recipe].tolist() == [frequencies[output] for output in top]
    x = random_inputs(300, Rng("inputs", number))
    answers = [oracle(title, tuple(row)) for row in x.tolist()]
    expected = [top.index(y) if y is not None and y in top else -1 for y in answers]
    assert made.classify(recipe, x).tolist() == expected


def test_golden_task_of_the_paper() -> None:
    """Twice a value is not greater than 5 just if the value is less than 3."""
    made = family(11)
    recipe = recipe_of(made, GOLDEN)
    assert made.title(recipe) == GOLDEN
    counts = {(0, 1, 2, 3, 4): 3, (11, 9, 3, 2, 5): 1, (3, 3, 3, 3, 3): 0, (2, 2, 7, 9, 11): 2}
    assert [oracle(GOLDEN, x) for x in counts] == list(counts.values())
    # A quarter of the values is counted: the four most frequent counts are 1, 2, 0 and 3.
    sizes = {count: ways * 3**count * 9 ** (5 - count) for count, ways in enumerate((1, 5, 10, 10, 5, 1))}
    assert oracle_frequencies(GOLDEN) == sizes
    assert made.tops[recipe].tolist() == [0, 1, 2, 3]
    assert made.sizes[recipe].tolist() == [sizes[count] for count in range(4)]
    x = np.array([*counts, (0, 1, 2, 2, 5), (0, 1, 2, 2, 1)])
    assert made.classify(recipe, x).tolist() == [3, 1, 0, 2, -1, -1]


def test_of_equally_frequent_outputs_the_smaller_are_classes() -> None:
    """All remainders that are kept come first equally often."""
    made = family(11)
    for title, classes in {
        "mod 6 → multiple of 1 → first": [0, 1, 2, 3],
        "mod 6 → not multiple of 6 → first": [1, 2, 3, 4],
    }.items():
        frequencies = oracle_frequencies(title)
        assert len(frequencies) > 4
        assert len(set(frequencies.values())) == 1
        assert made.tops[recipe_of(made, title)].tolist() == oracle_classes(frequencies) == classes


# Which tasks are the same


@pytest.mark.parametrize(("n", "tasks"), [(5, 841), (11, 2782)])
def test_number_of_unique_tasks(n: int, tasks: int) -> None:
    functions = family(n).functions
    assert sorted(set(functions.reshape(-1).tolist())) == list(range(-1, tasks))


@pytest.mark.parametrize("same", ["classes", "outputs"])
def test_equal_numbers_are_equal_tasks_on_every_input(same: Same) -> None:
    """Both ways, over every pair of a sample that is rich in equal ones and in near misses."""
    made = family(5, same)
    x = inputs(np.arange(12**5))
    numbers: set[tuple[int, bytes]] = set()
    for recipe in _related_choices(made):
        if same == "classes":
            behaviour = made.classify(recipe, x)
        else:
            behaviour = outputs(made.slots[2][recipe[2]], Subsequences(made.tables[recipe[:2]][x]))
        numbers.add((int(made.functions[recipe]), behaviour.astype(np.int16).tobytes()))
    assert len({number for number, _ in numbers}) == len({answers for _, answers in numbers}) == len(numbers)
    assert len(numbers) > 12


def _related_choices(made: ClassificationFamily) -> list[Recipe]:
    """Tasks, and for each another with the same number, and two that differ in one primitive."""
    related: dict[Recipe, None] = {}
    for place, recipe in enumerate(sample(made, 9)):
        rng = Rng("related", place)
        everything, numbers = np.argwhere(made.functions >= 0), made.functions[made.functions >= 0]
        same = everything == recipe
        alike = numbers == made.functions[recipe]
        related[recipe] = None
        for which in (alike, same[:, 0] & same[:, 2], same[:, 1] & same[:, 2]):
            some = everything[which]
            related[tuple(some[rng.integers(len(some), 1)[0]].tolist())] = None
    return list(related)


def test_no_task_with_fewer_than_four_outputs() -> None:
    made = family(5)
    # The order of the values decides which of the outputs comes out, not which outputs there are.
    multisets = list(combinations_with_replacement(range(12), 5))
    for recipe in sample(made, 60, tasks=False):
        assert len(oracle_frequencies(made.title(recipe), multisets)) < 4, made.title(recipe)
    for recipe in sample(made, 60):
        assert len(oracle_frequencies(made.title(recipe), multisets)) >= 4, made.title(recipe)


# Examples and answers


@pytest.mark.parametrize("count", [4, 30, 580, 971])
def test_examples_are_balanced_different_and_right(count: int) -> None:
    made = family(11)
    sizes = np.where(made.functions >= 0, made.sizes.min(-1), 12**5)
    rarest = tuple(map(int, np.unravel_index(sizes.argmin(), sizes.shape)))
    for recipe in (rarest, *sample(made, 8)):
        x, y = made.examples(recipe, count, Rng("examples", count))
        assert isinstance(y, Classes)
        assert (len(y), y.labels) == (count, (0, 1, 2, 3))
        shares = np.bincount(y.ids, minlength=4)
        assert shares.max() <= -(-count // 4)
        assert count % 4 or shares.tolist() == [count // 4] * 4
        rows = [tuple(row) for row in x.ids.tolist()]
        assert len(set(rows)) == count
        top = made.tops[recipe].tolist()
        for row, number in zip(rows[:100], y.ids[:100].tolist(), strict=True):
            assert oracle(made.title(recipe), row) == top[number]


def test_more_examples_than_a_class_has() -> None:
    made = family(11)
    size = int(made.sizes[recipe_of(made, GOLDEN)].min())
    x, _ = made.examples(recipe_of(made, GOLDEN), 4 * size, Rng("all"))
    assert len(np.unique(x.ids, axis=0)) == 4 * size
    with pytest.raises(UserError, match=f"examples must be at most {4 * size} "):
        made.examples(recipe_of(made, GOLDEN), 4 * size + 4, Rng("all"))


def test_answers_of_many_tasks() -> None:
    made = family(11)
    recipes = sample(made, 60)
    x = random_inputs(40, Rng("asked"))
    y, log_p = made.answers(np.array(recipes), x)
    assert (y.shape, log_p.shape) == ((60, 40, 1), (60, 40))
    for place, recipe in enumerate(recipes):
        of_output = dict(zip(made.tops[recipe].tolist(), enumerate(made.sizes[recipe].tolist()), strict=True))
        for row, values in enumerate(x.tolist()):
            output = oracle(made.title(recipe), tuple(values))
            number, size = of_output.get(output, (-1, inf))
            assert y[place, row].tolist() == [number]
            assert isclose(log_p[place, row], -log(size))
