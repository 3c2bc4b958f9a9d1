"""The draw of a training batch."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tam.methods.losses import example_losses
from tam.models import Batch, ModelSpec, build_model
from tam.tasks.task import Classes, Sequences, Task
from tam.tasks.vocabulary import Vocabulary
from tam.training.data import TrainingData
from tests.methods.small import some
from tests.training.toys import toy_tasks


def draw(data: TrainingData, tasks: int = 4, rows: int = 8, seed: int = 0) -> Batch:
    return data.draw(tasks, rows, torch.Generator().manual_seed(seed))


def examples(batch: Batch, task: int) -> list[tuple[tuple[int, ...], object]]:
    """The examples of one task of a batch, as plain values."""
    result: list[tuple[tuple[int, ...], object]] = []
    for row in range(batch.rows):
        if batch.present is not None and not batch.present[task, row]:
            continue
        x = tuple(batch.x[task, row, : int(batch.x_length[task, row])].tolist())
        y: object = batch.y[task, row].tolist()
        if batch.y_length is not None:
            y = tuple(batch.y[task, row, : int(batch.y_length[task, row])].tolist())
        result.append((x, y))
    return result


def originals(task: Task) -> list[tuple[tuple[int, ...], object]]:
    answers = task.y
    return [
        (
            tuple(task.x.row(row).tolist()),
            int(answers.ids[row]) if isinstance(answers, Classes) else tuple(answers.row(row).tolist()),
        )
        for row in range(len(task))
    ]


@pytest.mark.parametrize("kind", ["classification", "transduction"])
def test_a_batch_holds_examples_of_different_tasks(kind: str) -> None:
    tasks = toy_tasks(kind)
    data = TrainingData(tasks.train, "cpu")
    assert data.tasks == 6
    for seed in range(5):
        batch = draw(data, seed=seed)
        assert some(batch.task).unique().numel() == batch.tasks == 4
        assert batch.rows == 8
        for place, number in enumerate(some(batch.task).tolist()):
            pool = originals(tasks.train[number])
            for example in examples(batch, place):
                pool.remove(example)  # an error if it is not there, or no longer


def test_rows_are_different_and_in_random_order() -> None:
    tasks = toy_tasks()
    one = tasks.train[0]
    numbered = replace(one, x=replace(one.x, ids=one.x.ids * 0, lengths=one.x.lengths * 0))
    numbered = replace(numbered, y=Classes(torch.arange(40).numpy(), tuple(range(40))))
    data = TrainingData([numbered], "cpu")
    drawn = torch.stack([draw(data, 1, 10, seed).y[0] for seed in range(400)])
    assert all(row.unique().numel() == 10 for row in drawn)
    counts = torch.bincount(drawn.flatten(), minlength=40)  # each 100 times, give or take 9
    assert counts.min() > 60
    assert counts.max() < 140
    first = torch.bincount(drawn[:, 0], minlength=40)  # small supports are the first rows
    assert first.max() < 30


def test_tasks_and_chance_are_drawn_uniformly() -> None:
    data, generator = TrainingData(toy_tasks().train, "cpu"), torch.Generator().manual_seed(0)
    batches = [data.draw(2, 1, generator) for _ in range(600)]
    counts = torch.bincount(torch.cat([batch.task for batch in batches if batch.task is not None]))
    assert counts.sum() == 1200
    assert counts.min() > 150
    assert counts.max() < 250
    chance = torch.stack([some(batch.chance) for batch in batches])
    assert chance.shape == (600, 2, 2)
    assert torch.histc(chance, 10, 0, 1).min() > 180  # each 240 times, give or take 15


def test_a_random_slot_plays_unknown() -> None:
    tasks = toy_tasks(compositional=True)
    ids = {"p0": 0, "p1": 1, "q0": 2, "q1": 3, "q2": 4}
    data = TrainingData(tasks.train, "cpu", ids)
    generator = torch.Generator().manual_seed(0)
    slots = torch.zeros(2)
    for _ in range(100):
        batch = data.draw(4, 2, generator)
        slots += torch.bincount(some(batch.unknown), minlength=2)
        for place, number in enumerate(some(batch.task).tolist()):
            expected = [ids[name] for name in tasks.train[number].primitives]
            assert some(batch.primitives)[place].tolist() == expected
    assert slots.sum() == 400
    assert slots.min() > 150
    assert draw(TrainingData(tasks.train, "cpu")).unknown is None


def test_what_is_not_there_is_not_present() -> None:
    few, many = toy_tasks(size=5).train[:3], toy_tasks(size=40).train[3:]
    tasks = (*few, *many)
    data = TrainingData(tasks, "cpu")
    for seed in range(5):
        batch = draw(data, 6, 8, seed)
        for place, number in enumerate(some(batch.task).tolist()):
            there = min(8, len(tasks[number]))
            assert some(batch.present)[place].tolist() == [True] * there + [False] * (8 - there)  # in front
            pool = originals(tasks[number])
            for example in examples(batch, place):
                pool.remove(example)
    assert draw(TrainingData(many, "cpu"), 3).present is None
    everything = draw(TrainingData(few, "cpu"), tasks=100, rows=100)
    assert (everything.tasks, everything.rows) == (3, 5)


def test_many_short_examples_of_one_task_and_a_long_one_of_another_take_little_memory() -> None:
    """Padded to one shape they would take 64 terabytes."""
    vocabulary = Vocabulary(range(5))
    sizes = {"short": [[1]] * 200_000, "long": [[2] * 200_000], "other": [[3]]}
    tasks = [
        Task(name, vocabulary, Sequences.from_lists(x, 5), Classes(np.zeros(len(x), dtype=int), (0,)))
        for name, x in sizes.items()
    ]
    batch = draw(TrainingData(tasks, "cpu"), tasks=3, rows=2)
    assert batch.x_length.flatten().sort().values.tolist() == [0, 0, 1, 1, 1, 200_000]


@pytest.mark.parametrize("kind", ["classification", "transduction"])
def test_a_batch_is_as_wide_as_its_own_longest_rows(kind: Any) -> None:
    """One long example in 200 does not make every batch as wide, and the losses stay what they were."""
    tasks = uneven_tasks(kind)
    data, seeds = TrainingData(tasks, "cpu"), range(8)
    widths = set[int]()
    for seed in seeds:
        batch = draw(data, 2, 4, seed)
        widths.add(batch.x.shape[-1])
        assert batch.x.shape[-1] == int(batch.x_length.max())
        assert batch.y_length is None or batch.y.shape[-1] == int(batch.y_length.max())
        wide = replace(batch, x=F.pad(batch.x, (0, 9), value=-7), padded=True)
        if batch.y_length is not None:
            wide = replace(wide, y=F.pad(batch.y, (0, 9), value=10**6))
        classes: dict[str, Any] = {"classes": 2} if kind == "classification" else {"max_y": 40}
        spec = ModelSpec(kind=kind, vocabulary=5, max_x=40, layers=2, width=8, heads=2, **classes)
        model = build_model(spec, torch.Generator().manual_seed(0))
        z = torch.randn(2, 1, 8, generator=torch.Generator().manual_seed(1)).requires_grad_()
        parts = [z, *model.parameters()]
        losses = [example_losses(model, z, one).per_task() for one in (batch, wide)]
        torch.testing.assert_close(losses[0], losses[1], rtol=0, atol=1e-6)
        trimmed, padded = (
            torch.autograd.grad(loss.sum(), parts, allow_unused=True, materialize_grads=True)
            for loss in losses
        )
        torch.testing.assert_close(trimmed, padded, rtol=1e-5, atol=1e-6)
    assert len(widths) > 1
    assert max(widths) < 30


def uneven_tasks(kind: str) -> list[Task]:
    """Tasks whose inputs have 1 to 7 tokens, but for one of 30."""
    draws, vocabulary, made = random.Random(0), Vocabulary(range(5)), list[Task]()
    for name in "abc":
        rows = [[draws.randrange(5) for _ in range(draws.randint(1, 7))] for _ in range(200)]
        if name == "a":
            rows[0] = [1] * 30
        x = Sequences.from_lists(rows, 5)
        y = Classes(np.array([row[0] % 2 for row in rows]), (0, 1)) if kind == "classification" else x
        made.append(Task(name, vocabulary, x, y))
    return made
