"""Support and query: disjoint, all rows in one of them, sizes as asked."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from tam.errors import UserError
from tam.methods.losses import losses_of
from tam.methods.split import split
from tam.models import Batch, ModelSpec

Make = Callable[..., Batch]


def marked(batch: Batch) -> Batch:
    """The number of its row as the length of each input."""
    return replace(batch, x_length=torch.arange(batch.rows).expand(batch.tasks, -1))


def rows_of(batch: Batch, task: int) -> list[int]:
    present = torch.ones_like(batch.x_length, dtype=torch.bool) if batch.present is None else batch.present
    return batch.x_length[task][present[task]].tolist()


def test_a_fixed_size_needs_no_mask(plain_spec: ModelSpec, make_batch: Make) -> None:
    support, query = split(marked(make_batch(plain_spec, 3, 8)), (3, 3))
    assert support.present is None
    assert query.present is None
    for task in range(3):
        assert rows_of(support, task) == [0, 1, 2]
        assert rows_of(query, task) == [3, 4, 5, 6, 7]
    assert (support.y.shape[1], query.y.shape[1]) == (3, 5)


def test_sizes_are_log_uniform(plain_spec: ModelSpec, make_batch: Make) -> None:
    chance = torch.tensor([[0.0], [0.5], [0.999], [0.25]], dtype=torch.float64)
    batch = replace(marked(make_batch(plain_spec, 4, 24)), chance=chance)
    support, query = split(batch, (1, 16))
    assert [len(rows_of(support, task)) for task in range(4)] == [1, 4, 16, 2]
    for task in range(4):
        assert rows_of(support, task) == list(range(len(rows_of(support, task))))
        assert rows_of(query, task) == list(range(16, 24))


def test_a_task_of_few_rows_gives_half_of_them_to_its_support(
    plain_spec: ModelSpec, make_batch: Make
) -> None:
    counts = torch.tensor([1, 2, 5, 8, 20])
    batch = marked(make_batch(plain_spec, 5, 20))
    batch = replace(batch, present=torch.arange(20) < counts.unsqueeze(1))
    support, query = split(batch, (4, 4))
    assert support.rows == 4
    for task, (count, size) in enumerate(zip(counts.tolist(), [0, 1, 2, 4, 4], strict=True)):
        assert rows_of(support, task) == list(range(size))
        assert rows_of(query, task) == list(range(size, count))


def test_without_an_example_there_is_no_loss_rather_than_no_number(make_batch: Make) -> None:
    spec = ModelSpec(kind="classification", vocabulary=5, classes=3, max_x=3)
    batch = replace(make_batch(spec, 2, 3), present=torch.tensor([[False] * 3, [True] * 3]))
    losses = losses_of(torch.full((2, 3, 3), -math.log(3)), batch).per_task()
    torch.testing.assert_close(losses, torch.tensor([0, math.log(3)]))


def test_a_query_is_left(plain_spec: ModelSpec, make_batch: Make) -> None:
    with pytest.raises(UserError, match=r"support_sizes go up to 8, but a task has 8 rows"):
        split(make_batch(plain_spec, 3, 8), (1, 8))
