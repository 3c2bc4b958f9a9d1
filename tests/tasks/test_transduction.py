"""Transduction against the paper in plain Python: no numpy, no shortcuts, one input at a time."""

import operator
import re
from functools import cache

import numpy as np
import pytest

from tam.tasks.family import Recipe
from tam.tasks.integers import inputs, random_inputs
from tam.tasks.rng import Rng
from tam.tasks.task import Sequences
from tam.tasks.transduction import TransductionFamily

GOLDEN = "add 2 → replace 2 with 1 → reverse"

# The oracle: the tables of the paper's appendix, read by name. Positions count from 1.


TRANSFORMS = {"mul": operator.mul, "add": operator.add, "div": operator.floordiv, "mod": operator.mod}


def transform(primitive: str, x: list[int]) -> list[int]:
    name, v = primitive.split()
    return [TRANSFORMS[name](value, int(v)) % 12 for value in x]


def replace(primitive: str, x: list[int]) -> list[int]:
    if found := re.fullmatch(r"replace (\d+) with (\d+)", primitive):
        old, new = map(int, found.groups())
        return [new if value == old else value for value in x]
    found = re.fullmatch(r"replace x(\d) with (.+)", primitive)
    assert found
    y = list(x)
    y[int(found[1]) - 1] = formula(int(found[1]), found[2], x) % 12
    return y


def formula(i: int, text: str, x: list[int]) -> int:
    """a·x_i + b, x_j, |x_i - x_j| or x_i + x_j."""
    here = x[i - 1]
    if found := re.fullmatch(rf"(?:([23])·)?x{i}(?: \+ (\d))?", text):
        return int(found[1] or 1) * here + int(found[2] or 0)
    if found := re.fullmatch(r"x(\d)", text):
        return x[int(found[1]) - 1]
    if found := re.fullmatch(rf"\|x{i} - x(\d)\|", text):
        return abs(here - x[int(found[1]) - 1])
    found = re.fullmatch(rf"x{i} \+ x(\d)", text)
    assert found
    return here + x[int(found[1]) - 1]


def rearrange(primitive: str, x: list[int]) -> list[int]:
    match primitive.split():
        case ["sort", "ascending"]:
            return sorted(x)
        case ["sort", "descending"]:
            return sorted(x, reverse=True)
        case ["reverse"]:
            return x[::-1]
        case ["swap", first, "and", second]:
            i, j = int(first[1:]) - 1, int(second[1:]) - 1
            y = list(x)
            y[i], y[j] = x[j], x[i]
            return y
        case ["shift", "right", v]:
            for _ in range(int(v)):
                x = [x[-1], *x[:-1]]
            return x
        case _:
            raise AssertionError(primitive)


def oracle(title: str, x: list[int]) -> list[int]:
    first, second, third = title.split(" → ")
    return rearrange(third, replace(second, transform(first, x)))


# What is tested.


@cache
def family() -> TransductionFamily:
    return TransductionFamily()


def recipe_of(title: str) -> Recipe:
    names = title.split(" → ")
    return tuple(slot.index(name) for slot, name in zip(family().slots, names, strict=True))


def sample(count: int) -> list[Recipe]:
    shape = family().functions.shape
    rng = Rng("sample", count)
    columns = [rng.integers(size, count).tolist() for size in shape]
    return list(zip(*columns, strict=True))


def test_golden_example_of_the_paper() -> None:
    recipe = recipe_of(GOLDEN)
    assert family().title(recipe) == GOLDEN
    assert oracle(GOLDEN, [0, 5, 0, 3, 6]) == [8, 5, 1, 7, 1]
    assert family().answer(recipe, np.array([[0, 5, 0, 3, 6]])).tolist() == [[8, 5, 1, 7, 1]]


def test_primitives_are_those_of_the_paper() -> None:
    five = range(1, 6)
    pairs = [(i, j) for i in five for j in five if i != j]
    scaled = [(a, "" if a == 1 else f"{a}·", b) for a in (1, 2, 3) for b in range(5) if (a, b) != (1, 0)]
    first = [f"{name} {v}" for name in ("mul", "add", "div", "mod") for v in five]
    second = [
        *[f"replace {v} with {w}" for v in range(12) for w in range(12) if v != w],
        *[f"replace x{i} with {a}x{i}" + (f" + {b}" if b else "") for i in five for _, a, b in scaled],
        *[f"replace x{i} with x{j}" for i, j in pairs],
        *[f"replace x{i} with |x{i} - x{j}|" for i, j in pairs],
        *[f"replace x{i} with x{i} + x{j}" for i, j in pairs],
    ]
    third = ["sort ascending", "sort descending", "reverse"]
    third += [f"swap x{i} and x{j}" for i, j in pairs if i < j]
    third += [f"shift right {v}" for v in range(1, 5)]
    for slot, expected in zip(family().slots, (first, second, third), strict=True):
        assert sorted(slot) == sorted(expected)
    assert [len(slot) for slot in family().slots] == [20, 132 + 5 * 14 + 3 * 20, 3 + 10 + 4]
    assert family().vocabulary.tokens == tuple(range(12))


@pytest.mark.parametrize("slot", range(3))
def test_every_primitive(slot: int) -> None:
    rule = (transform, replace, rearrange)[slot]
    for name, ours in zip(family().slots[slot], family().rules[slot], strict=True):
        x = random_inputs(60, Rng("rows", name))
        assert ours(x).tolist() == [rule(name, row) for row in x.tolist()], name


# Which tasks are the same


def test_equal_numbers_are_equal_tasks_on_every_input() -> None:
    """Both ways, over every pair of a sample that is rich in equal ones and in near misses."""
    functions = family().functions
    x = inputs(np.arange(12**5)).astype(np.int8)
    related: set[Recipe] = set()
    for place, recipe in enumerate(sample(25)):
        rng = Rng("related", place)
        alike = np.argwhere(functions == functions[recipe])
        related |= {recipe, tuple(alike[rng.integers(len(alike), 1)[0]].tolist())}
        for slot, size in enumerate(functions.shape):
            related.add((*recipe[:slot], int(rng.integers(size, 1)[0]), *recipe[slot + 1 :]))
    numbers = {(int(functions[one]), family().answer(one, x).astype(np.int8).tobytes()) for one in related}
    assert len({number for number, _ in numbers}) == len({answers for _, answers in numbers}) == len(numbers)
    assert len(related) > len(numbers) > 40


def test_number_of_unique_tasks() -> None:
    """As found once by comparing all 89,080 recipes on all 12⁵ inputs."""
    numbers = family().functions
    assert numbers.size == 89_080
    assert sorted(set(numbers.reshape(-1).tolist())) == list(range(63_608))


SHARES: tuple[dict[str, float], ...] = (
    {rf"{name} \d": 1 / 4 for name in TRANSFORMS},
    {
        r"replace \d+ with \d+": 1 / 2,
        r"replace x(\d) with (\d·)?x\1( \+ \d)?": 1 / 8,
        r"replace x\d with x\d": 1 / 8,
        r"replace x(\d) with \|x\1 - x\d\|": 1 / 8,
        r"replace x(\d) with x\1 \+ x\d": 1 / 8,
    },
    dict.fromkeys(("sort ascending", "sort descending", "reverse", "swap .*", "shift right .*"), 1 / 5),
)


@pytest.mark.parametrize("slot", range(3))
def test_operations_are_drawn_first_then_their_parameters(slot: int) -> None:
    weights, names = family().weights, family().slots[slot]
    assert weights is not None
    shares = weights.sum(tuple(axis for axis in range(3) if axis != slot))
    found = 0
    for pattern, share in SHARES[slot].items():
        members = [place for place, name in enumerate(names) if re.fullmatch(pattern, name)]
        assert np.allclose(shares[members], share / len(members))
        found += len(members)
    assert found == len(names)


# Examples and answers


@pytest.mark.parametrize("count", [1, 520, 60_000])
def test_examples_are_different_and_right(count: int) -> None:
    for recipe in sample(4):
        x, y = family().examples(recipe, count, Rng("examples", count))
        assert isinstance(y, Sequences)
        assert len(x) == len(y) == count
        assert set(x.lengths.tolist()) == set(y.lengths.tolist()) == {5}
        assert len(np.unique(x.ids, axis=0)) == count
        for row, answer in zip(x.ids[:200].tolist(), y.ids[:200].tolist(), strict=True):
            assert answer == oracle(family().title(recipe), row)


@pytest.mark.parametrize("count", [30, 1_200])
def test_answers_of_many_tasks(count: int) -> None:
    recipes = sample(count)
    x = random_inputs(6, Rng("asked"))
    y, log_p = family().answers(np.array(recipes), x)
    assert (y.shape, log_p.shape) == ((count, 6, 5), (count, 6))
    assert (log_p == log_p[0, 0]).all()  # every task draws every input alike
    for answers, recipe in zip(y[::5].tolist(), recipes[::5], strict=True):
        assert answers == [oracle(family().title(recipe), row) for row in x.tolist()]
