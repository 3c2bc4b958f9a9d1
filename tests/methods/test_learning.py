"""Methods that learn in episodes, as a user meets them, on tasks that a small network learns in seconds.

Classification: each of six tokens belongs to one of three classes, in another way in each task. Transduction:
each of five tokens stands for another one. Tokens behind the first say nothing. The test tasks are new.
"""

from functools import cache
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pytest

import tam
from tam.learner.learner import Learner
from tam.tasks.rng import Rng
from tam.tasks.task import Classes, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary
from tests.methods.small import some

pytestmark = pytest.mark.slow

VOCABULARY = Vocabulary(range(6))
SCORED: dict[str, Any] = {"supports": 2, "queries": 20}
SMALL: dict[str, Any] = SCORED | {
    "layers": 2,
    "width": 32,
    "heads": 4,
    "rows": 20,
    "rate": 4e-3,
    "warmup": 20,
    "validate_every": 1000,
}


class Case(NamedTuple):
    """A method on a kind of task, with what it needs to learn it quickly."""

    method: str
    kind: str
    noise: int
    settings: dict[str, Any]

    def learner(self, steps: int | None = None) -> Learner:
        given = (SCORED if self.method == "nearest" else SMALL) | self.settings
        given |= {} if steps is None else {"steps": steps}
        return Learner(self.method, "paper", **given)


CASES = {
    "snail": Case("snail", "classification", 0, {"shots": (2,), "steps": 140}),
    "snail-transduction": Case("snail", "transduction", 0, {"shots": (8,), "steps": 250}),
    "matching": Case("matching", "classification", 2, {"shots": (2,), "steps": 30, "episode_queries": 8}),
    "prototypical": Case("prototypical", "classification", 3, {"shots": (2,), "steps": 20, "most_shots": 4}),
    "nearest": Case("nearest", "classification", 0, {"shots": (2,), "steps": 0}),
    "nearest-transduction": Case("nearest", "transduction", 0, {"shots": (8,), "steps": 0}),
}


def make_task(
    kind: str, number: int, rule: tuple[int, ...], noise: int, primitives: tuple[str, ...] = ()
) -> Task:
    size, tokens = 40, len(rule)
    x = Rng("toy", number).integers(tokens, (1 + noise) * size).reshape(size, 1 + noise)
    x[: 2 * tokens, 0] = np.arange(2 * tokens) % tokens  # no class is missing
    answers = np.array(rule)[x[:, 0]]
    y: Classes | Sequences = Classes(answers, ("a", "b", "c"))
    if kind == "transduction":
        y = Sequences.from_lists([[int(answer)] for answer in answers], 6)
    inputs = Sequences(x, np.full(size, 1 + noise))
    return Task(f"task {number}", VOCABULARY, inputs, y, primitives)


@cache
def toy_tasks(kind: str, noise: int, compositional: bool = False) -> TaskSet:
    rules = sorted(set(permutations((0, 0, 1, 1, 2, 2) if kind == "classification" else range(5))))
    tasks: list[Task] = []
    for number, place in enumerate(Rng("rules", kind).permutation(len(rules))):
        named = (f"first {rules[place][0]}", f"last {rules[place][-1]}" if number >= 8 else "last unseen")
        tasks.append(make_task(kind, number, rules[place], noise, named if compositional else ()))
    splits = {"train": tuple(tasks[8:]), "valid": tuple(tasks[:3]), "test": tuple(tasks[3:8])}
    return TaskSet(splits, VOCABULARY)


@cache
def trained(name: str, steps: int | None = None) -> Learner:
    case = CASES[name]
    return case.learner(steps).fit(toy_tasks(case.kind, case.noise))


def accuracy(learner: Learner, name: str) -> float:
    (score,) = learner.evaluate(toy_tasks(CASES[name].kind, CASES[name].noise).test)
    return score.accuracy


def examples_of(name: str, task: int) -> list[tuple[list[Any], Any]]:
    """k examples of a test task, of each class."""
    case = CASES[name]
    chosen = toy_tasks(case.kind, case.noise).test[task]
    (shots,) = case.settings["shots"]
    found: list[tuple[list[Any], Any]] = []
    counts: dict[Any, int] = {}
    for example in chosen:
        label = example.y if case.kind == "classification" else None
        if counts.get(label, 0) < shots:
            counts[label] = counts.get(label, 0) + 1
            found.append((list(example.x), example.y))
    return found


@pytest.mark.parametrize("name", CASES)
def test_it_learns(name: str) -> None:
    """Better than chance, and than itself before training, if it is trained."""
    chance = 1 / 3 if CASES[name].kind == "classification" else 1 / 5
    after = accuracy(trained(name), name)
    assert after > chance + 0.2
    if CASES[name].settings["steps"]:
        assert after > accuracy(trained(name, 0), name) + 0.2


@pytest.mark.parametrize("name", CASES)
def test_rows_of_different_tasks_in_one_batch(name: str) -> None:
    """For classification, tasks with three and with two labels."""
    case = CASES[name]
    learner, noise = trained(name, 0), [0] * case.noise
    other: list[Any] = examples_of(name, 1)
    if case.kind == "classification":
        other = [([token, *noise], "xy"[token % 2]) for token in range(4)]
    rules = learner.adapt_many([examples_of(name, 0), other])
    inputs = [[place % 5, *noise] for place in range(6)]
    mixed = learner.predict_proba([rules[place % 2] for place in range(6)], inputs)
    for place, row in enumerate(mixed):
        (alone,) = learner.predict_proba(rules[place % 2], [inputs[place]])
        assert row == pytest.approx(alone, abs=1e-5)
        if case.kind == "classification":
            assert sum(row.values()) == pytest.approx(1.0, abs=1e-5)
            assert len(row) == 3 - place % 2


@pytest.mark.parametrize("name", ["snail", "snail-transduction", "matching", "prototypical", "nearest"])
def test_compositional(name: str) -> None:
    case = CASES[name]
    tasks = toy_tasks(case.kind, case.noise, compositional=True)
    learner = case.learner(min(4, case.settings["steps"])).fit(tasks)
    if name != "nearest":
        assert some(learner.model_.unknown).abs().sum() > 0, "it is trained"
    (score,) = learner.evaluate(tasks.test)
    assert 0 <= score.accuracy <= 1
    primitives = None if name == "nearest" else ["first 1", "something new"]
    rule = learner.adapt(examples_of(name, 0), primitives)
    assert len(learner.predict(rule, [x for x, _ in examples_of(name, 0)])) == len(examples_of(name, 0))


@pytest.mark.parametrize("name", ["snail", "snail-transduction", "matching"])
def test_a_model_is_for_one_k(name: str) -> None:
    learner, case = trained(name, 0), CASES[name]
    (shots,) = case.settings["shots"]
    with pytest.raises(tam.UserError, match=f"k = {shots}"):
        learner.evaluate(toy_tasks(case.kind, case.noise).test, shots=(1,))
    with pytest.raises(tam.UserError, match=f"k = {shots}"):
        learner.adapt(examples_of(name, 0)[1:])
