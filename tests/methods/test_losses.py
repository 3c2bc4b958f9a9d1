"""The loss of a task: the mean over its predictions, end tokens included, padding and absent rows not."""

import math
from dataclasses import replace

import torch

from tam.methods.losses import backward, losses_of
from tam.models import Batch
from tests.methods.rerun import OnGpu


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


def test_backward_returns_the_gradients_of_inputs_and_adds_those_of_parameters() -> None:
    """On a GPU in one operation, where the parameters' gradients are views of one vector."""
    x = torch.tensor(5.0, requires_grad=True)
    for on_gpu in (False, True):
        gradients = torch.arange(6.0)
        theta = [torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.tensor([2.0, 3.0]))]
        theta[0].grad, theta[1].grad = gradients[:4].view(2, 2), gradients[4:]
        loss = (theta[0].t() * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum() + (theta[1] * x).sum()
        (of_x,) = backward(loss.as_subclass(OnGpu) if on_gpu else loss, theta, [x])
        assert of_x.item() == 5.0
        assert gradients.tolist() == [1.0, 4.0, 4.0, 7.0, 9.0, 10.0]
        assert x.grad is None
