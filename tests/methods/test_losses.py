"""The loss of a task: the mean over its predictions, end tokens included, padding and absent rows not."""

import math
from dataclasses import replace

import pytest
import torch

from tam.methods.losses import accumulate, backward, losses_of
from tam.models import Batch


def classes() -> tuple[torch.Tensor, Batch]:
    probabilities = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]], [[0.3, 0.3, 0.4], [0.6, 0.4, 0.0]]])
    empty = torch.zeros(2, 2, 0, dtype=torch.int64)
    batch = Batch(x=empty, x_length=torch.zeros(2, 2, dtype=torch.int64), y=torch.tensor([[1, 2], [2, 0]]))
    return probabilities.log(), batch


def test_a_class_counts_once() -> None:
    log_prob, batch = classes()
    losses = losses_of(log_prob, batch)
    expected = [[-math.log(0.25), -math.log(0.7)], [-math.log(0.4), -math.log(0.6)]]
    torch.testing.assert_close(losses.total, torch.tensor(expected))
    torch.testing.assert_close(losses.per_task(), torch.tensor([sum(row) / 2 for row in expected]))


def test_a_sequence_counts_its_tokens_and_its_end() -> None:
    """Not the mean over examples: a long answer counts for more than a short one."""
    batch = Batch(
        x=torch.zeros(1, 3, 0, dtype=torch.int64),
        x_length=torch.zeros(1, 3, dtype=torch.int64),
        y=torch.zeros(1, 3, 2, dtype=torch.int64),
        y_length=torch.tensor([[2, 1, 0]]),
    )
    log_prob = -torch.tensor([[[1.0, 2.0, 4.0], [8.0, 16.0, 0.0], [32.0, 0.0, 0.0]]])
    losses = losses_of(log_prob, batch)
    assert losses.total.tolist() == [[7, 24, 32]]
    assert losses.predictions.tolist() == [[3, 2, 1]]
    assert losses.per_task().tolist() == [63 / 6]
    assert losses.per_task(torch.tensor([[1.0, 0, 1]])).tolist() == [39 / 4]


def test_absent_rows_count_nothing_whatever_their_loss() -> None:
    log_prob, batch = classes()
    log_prob[0, 1] = math.nan
    log_prob[1] = -math.inf
    losses = losses_of(log_prob, replace(batch, present=torch.tensor([[True, False], [False, False]])))
    torch.testing.assert_close(losses.per_task(), torch.tensor([-math.log(0.25), 0.0]))
    assert losses.predictions.tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize("in_one", [True, False])
@pytest.mark.parametrize("add", [True, False])
def test_gradients_are_added_or_take_the_place_of_others(*, add: bool, in_one: bool) -> None:
    whole = torch.arange(6.0)
    sums = [whole[:4].view(2, 2), whole[4:]]
    found = [torch.full((2, 2), 10.0).t(), torch.tensor([20.0, 30.0])]
    expected = torch.tensor([10.0, 10.0, 10.0, 10.0, 20.0, 30.0]) + (torch.arange(6.0) if add else 0.0)
    accumulate(sums, found, base=whole if in_one else None, add=add)
    assert torch.equal(whole, expected)


@pytest.mark.parametrize("add", [True, False])
def test_backward_returns_the_gradients_of_inputs_and_leaves_those_of_parameters(*, add: bool) -> None:
    theta, x = torch.nn.Parameter(torch.tensor([2.0, 3.0])), torch.tensor(5.0, requires_grad=True)
    theta.grad = torch.tensor([1.0, 1.0])
    (of_x,) = backward((theta * x).sum(), [theta], [x], add=add)
    assert of_x.item() == 5.0
    assert theta.grad.tolist() == ([6.0, 6.0] if add else [5.0, 5.0])
    assert x.grad is None
