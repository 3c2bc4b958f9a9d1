"""The loss of a task: the mean over its predictions, end tokens included, padding and absent rows not."""

import math

import torch

from tam.methods.losses import backward, losses_of
from tam.models import Batch
from tests.methods.rerun import OnGpu


def test_a_task_s_loss_is_the_mean_over_tokens_and_ends_of_rows_that_are_there() -> None:
    """Not the mean over examples: a long answer counts for more than a short one."""
    empty = torch.zeros(2, 3, 0, dtype=torch.int64)
    batch = Batch(
        x=empty,
        x_length=torch.zeros(2, 3, dtype=torch.int64),
        y=torch.zeros(2, 3, 2, dtype=torch.int64),
        y_length=torch.tensor([[2, 1, 0]] * 2),
        present=torch.tensor([[True, False, True], [False, False, False]]),
    )
    log_prob = -torch.tensor([[[1.0, 2, 4], [math.nan, math.inf, 0], [32.0, 0, 0]], [[math.nan] * 3] * 3])
    losses = losses_of(log_prob, batch)
    assert losses.total.tolist() == [[7, 0, 32], [0, 0, 0]]
    assert losses.predictions.tolist() == [[3, 0, 1], [0, 0, 0]]
    assert losses.per_task().tolist() == [39 / 4, 0]
    assert losses.per_task(torch.tensor([[0.0, 0, 1]] * 2))[0].item() == 32


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
