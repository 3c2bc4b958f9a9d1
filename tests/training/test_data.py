"""The draw of a training batch."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tam.models import Batch
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


def test_a_batch_is_as_wide_as_its_own_longest_rows() -> None:
    """One long example in 200 does not make every batch as wide."""
    x = Sequences.from_lists([[1] * 30, *([1] * (1 + number % 7) for number in range(200))], 5)
    tasks = [Task(name, Vocabulary(range(5)), x, x) for name in "abc"]
    widths = set[int]()
    for seed in range(8):
        batch = draw(TrainingData(tasks, "cpu"), 2, 4, seed)
        widths.add(batch.x.shape[-1])
        assert batch.x.shape[-1] == int(batch.x_length.max())
        assert batch.y.shape[-1] == int(some(batch.y_length).max())
    assert len(widths) > 1
    assert max(widths) < 30
