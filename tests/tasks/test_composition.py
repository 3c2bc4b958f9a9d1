from collections import Counter
from functools import cache
from typing import get_args

import numpy as np
import pytest

from tam.errors import UserError
from tam.tasks.benchmark import BenchmarkName, BenchmarkOptions, draw_recipes, family_of, make
from tam.tasks.composition import HoldOut, compose, hold_out
from tam.tasks.family import Family, Recipe
from tam.tasks.integers import random_inputs
from tam.tasks.rng import Rng

pytestmark = pytest.mark.slow

NAMES: tuple[BenchmarkName, ...] = get_args(BenchmarkName)
SIZES = {"train": 5000, "valid": 100, "test": 100}
HOLDOUTS: dict[BenchmarkName, tuple[int, ...]] = {  # path-finding has 970 200 recipes and takes its time
    "classification": (0, 5),
    "transduction": (0, 5),
    "pathfinding": (5,),
}


@cache
def family(name: BenchmarkName) -> Family:
    return family_of(BenchmarkOptions(name=name, compositional=True))


@cache
def drawn(name: BenchmarkName, holdout: int) -> dict[str, list[Recipe]]:
    """The tasks of a set of the default size, without their examples."""
    return draw_recipes(family(name), BenchmarkOptions(name=name, compositional=True, holdout=holdout))


def parts(name: BenchmarkName, holdout: int) -> HoldOut:
    return hold_out(family(name), 0, holdout)


def unseen_slots(recipe: Recipe, held: HoldOut) -> list[int]:
    return [slot for slot, place in enumerate(recipe) if place in held.unseen[slot]]


@pytest.mark.parametrize("name", NAMES)
def test_composed_tasks(name: BenchmarkName) -> None:
    functions, targets = family(name).functions, family(name).targets
    for holdout in HOLDOUTS[name]:
        held, tasks = parts(name, holdout), drawn(name, holdout)
        others = tasks["valid"] + tasks["test"]
        assert {split: len(members) for split, members in tasks.items()} == SIZES
        numbers = [int(functions[recipe]) for recipe in tasks["train"] + others]
        assert len(set(numbers)) == len(numbers)
        assert min(numbers) >= 0
        # Training tasks have only seen primitives, the others exactly one unseen and known ones.
        assert not any(unseen_slots(recipe, held) for recipe in tasks["train"])
        trained = [set(places) for places in zip(*tasks["train"], strict=True)]
        for recipe in others:
            [unseen] = unseen_slots(recipe, held)
            assert all(recipe[slot] in trained[slot] for slot in range(3) if slot != unseen)
        # No other task has the targets of one with seen primitives, or of another.
        asked = [int(targets[recipe]) for recipe in others]
        assert not np.isin(asked, targets[np.ix_(*held.seen)]).any()
        assert len(set(asked)) == len(asked)


def test_a_task_with_several_unseen_primitives_to_choose_from_is_taken_once() -> None:
    functions = family("classification").functions
    for holdout in range(8):
        composed = compose(family("classification"), (300, 150, 150), 0, holdout)
        numbers = [int(functions[recipe]) for tasks in composed.values() for recipe in tasks]
        assert len(set(numbers)) == len(numbers) == 600


@pytest.mark.parametrize("holdout", [0, 6])
def test_every_test_task_labels_some_input_unlike_every_other_task(holdout: int) -> None:
    """Shown by a sample of the inputs."""
    made, tasks = family("classification"), drawn("classification", holdout)
    everything = np.array([recipe for split in tasks.values() for recipe in split])
    labels = made.answers(everything, random_inputs(400, Rng("sample"))).y.astype(np.int8)
    alike = Counter(row.tobytes() for row in labels)
    assert {alike[row.tobytes()] for row in labels[5000:]} == {1}
    assert max(alike.values()) > 1  # training tasks may: their outputs differ


@pytest.mark.parametrize(
    ("name", "unseen"),
    [("classification", [6, 9, 1]), ("transduction", [2, 26, 2]), ("pathfinding", [10, 10, 10])],
)
def test_a_tenth_of_every_slot_is_held_out(name: BenchmarkName, unseen: list[int]) -> None:
    draws = [*((0, holdout) for holdout in range(8)), (1, 0)]
    held_out = [hold_out(family(name), *draw) for draw in draws]
    assert len({str(held.unseen) for held in held_out}) == 9
    for held in held_out:
        assert [len(places) for places in held.unseen] == unseen
        for slot, *places in zip(family(name).slots, held.seen, held.unseen, strict=True):
            assert sorted(np.concatenate(places)) == list(range(len(slot)))


def test_more_tasks_than_there_are_is_an_error() -> None:
    made = family("classification")
    with pytest.raises(UserError, match=r"train must be at most [5-7][0-9]{3} for hold-out 2: got 9000"):
        compose(made, (9000, 1, 1), 0, 2)
    with pytest.raises(UserError, match=r"valid \+ test must be at most [0-9]+ here: got 100000"):
        compose(made, (300, 50_000, 50_000), 0, 2)


@pytest.mark.parametrize("name", ["classification", "transduction"])
def test_tasks_name_their_primitives(name: BenchmarkName) -> None:
    options = BenchmarkOptions(
        name=name, compositional=True, holdout=3, n=7, train=300, valid=20, test=20, examples=8
    )
    tasks, made = make(options), family_of(options)
    slots = zip(made.slots, hold_out(made, 0, 3).unseen, strict=True)
    unseen = {(slot, names[place]) for slot, (names, places) in enumerate(slots) for place in places}
    assert not any(unseen & {*enumerate(task.primitives)} for task in tasks.train)
    for task in (*tasks.valid, *tasks.test):
        [(_, new)] = unseen & {*enumerate(task.primitives)}
        assert tasks.unseen_primitives & set(task.primitives) == {new}
    assert all(task.name == " → ".join(task.primitives) for task in tasks)
