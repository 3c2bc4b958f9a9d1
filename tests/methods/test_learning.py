"""Every method that learns in episodes, on tasks that a small network learns in seconds.

Classification: each of six tokens belongs to one of three classes, in another way in each task; a second
token says nothing. Transduction: every token is shifted and stretched modulo 7. The test tasks are new.
"""

from collections.abc import Callable, Generator
from functools import cache
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tam
from tam.config import Config
from tam.learner import Learner
from tam.tasks.draws import Draws
from tam.tasks.task import Classes, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary

SMALL: dict[str, Any] = {
    "layers": 2,
    "width": 16,
    "heads": 2,
    "rows": 24,
    "rate": 5e-3,
    "warmup": 20,
    "supports": 2,
    "queries": 20,
    "validate_every": 1000,
}
METHODS: dict[str, dict[str, Any]] = {
    "snail": {"shots": (2,), "steps": 300},
    "matching": {"shots": (2,), "steps": 60, "episode_queries": 8},
    "prototypical": {"shots": (2,), "steps": 60, "most_shots": 4},
    "nearest": {"shots": (2,)},
}
TRAINED = [("snail", "classification"), ("matching", "classification"), ("prototypical", "classification")]
TRAINED += [("snail", "transduction")]
ALL = [*TRAINED, ("nearest", "classification"), ("nearest", "transduction")]
VOCABULARY = Vocabulary(range(7))


@pytest.fixture(autouse=True)
def one_thread() -> Generator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_task(kind: str, number: int, rule: tuple[int, ...], primitives: tuple[str, ...]) -> Task:
    size, tokens = 40, 6 if kind == "classification" else 7
    x = Draws("toy", number).integers(tokens, 2 * size).reshape(size, 2)
    x[:tokens, 0] = np.arange(tokens)  # no token and no class is missing
    inputs = Sequences(x, np.full(size, 2))
    name = f"task {number}"
    if kind == "classification":
        answers = Classes(np.array(rule)[x[:, 0]], ("a", "b", "c"))
        return Task(name, VOCABULARY, inputs, answers, primitives)
    y = Sequences.from_lists(((rule[0] * x + rule[1]) % 7).tolist(), 7)
    return Task(name, VOCABULARY, inputs, y, primitives)


@cache
def toy_tasks(kind: str, compositional: bool = False) -> TaskSet:
    if kind == "classification":
        rules: list[tuple[int, ...]] = sorted(set(permutations((0, 0, 1, 1, 2, 2))))
    else:
        rules = list(product(range(1, 7), range(7)))
    order = Draws("rules", kind).permutation(len(rules))
    tasks = []
    for number, place in enumerate(order):
        rule = rules[place]
        named = (f"first {rule[0]}", f"rest {rule[1:]}" if number >= 8 else "rest unseen")
        tasks.append(make_task(kind, number, rule, named if compositional else ()))
    splits = {"train": tuple(tasks[8:]), "valid": tuple(tasks[:3]), "test": tuple(tasks[3:8])}
    return TaskSet(splits, VOCABULARY)


@cache
def trained(method: str, kind: str, steps: int | None = None, compositional: bool = False) -> Learner:
    values = SMALL | METHODS[method] | ({} if steps is None else {"steps": steps})
    return tam.Learner(method, "paper", **values).fit(toy_tasks(kind, compositional))


def accuracy(learner: Learner, kind: str) -> float:
    (score,) = learner.evaluate(toy_tasks(kind).test)
    return score.accuracy


@pytest.mark.parametrize(("method", "kind"), TRAINED)
def test_it_learns(method: str, kind: str) -> None:
    """Better than chance, and than itself before training."""
    chance = 1 / 3 if kind == "classification" else 1 / 49
    after, before = (accuracy(trained(method, kind, steps), kind) for steps in (None, 0))
    print(method, kind, before, after)
    assert after > before + 0.2
    assert after > chance + 0.3


@pytest.mark.parametrize(("method", "kind"), ALL)
def test_timing(method: str, kind: str) -> None:
    print(method, kind, accuracy(trained(method, kind), kind))
