"""Launches of the kernels in `tam.models.fast.kernels.losses`.

Shapes: B tasks, N rows of each, Q parts of an answer, S components of a task embedding.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from tam.models.fast.gpu_device import launch
from tam.models.fast.gpu_packing import room_for


class TaskLosses(NamedTuple):
    """The losses of tasks and of their examples."""

    means: Tensor  # [B], over a task's predictions
    counts: Tensor  # [B], number of predictions, at least 1
    totals: Tensor  # [B, N], summed loss of each example
    predictions: Tensor  # [B, N], number of predictions of each example


def task_losses(log_prob: Tensor, y_lengths: Tensor | None, present: Tensor | None) -> TaskLosses:
    """The losses, from log-probabilities `[B, N, Q]`, lengths of answers, and which rows are examples."""
    tasks, rows, places = log_prob.shape
    assert log_prob.dtype == torch.float32
    log_prob = log_prob.contiguous()
    means, counts = log_prob.new_empty(tasks), log_prob.new_empty(tasks)
    totals, predictions = log_prob.new_empty(tasks, rows), log_prob.new_empty(tasks, rows)
    given = [log_prob if tensor is None else tensor.contiguous() for tensor in (y_lengths, present)]
    launch(
        "task_losses", (tasks,), log_prob, *given, means, counts, totals, predictions, rows, places,
        is_sequence=y_lengths is not None, some=present is not None, span=min(room_for(rows), 128),
        places=room_for(places),
    )  # fmt: skip
    return TaskLosses(means, counts, totals, predictions)


def loss_gradients(
    g_means: Tensor, counts: Tensor, present: Tensor | None, shape: tuple[int, int, int]
) -> Tensor:
    """The gradients of the log-probabilities, of this shape, from those of the tasks' losses."""
    tasks, rows, places = shape
    to, span = g_means.new_empty(shape), 1024
    there = counts if present is None else present.contiguous()
    grid = (tasks, -(-rows * places // span))
    sizes, some = (rows, places), present is not None
    launch("loss_gradients", grid, g_means.contiguous(), counts, there, to, *sizes, some=some, span=span)
    return to


def chosen_rows(g: Tensor, totals: Tensor, predictions: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The tasks' losses over the chosen rows, `[B]`, and their gradients with respect to z, `[B, S]`."""
    tasks, rows, size = g.shape
    given = [tensor.contiguous() for tensor in (g, totals, predictions, chosen)]
    assert all(tensor.dtype == torch.float32 for tensor in given)
    losses, to = g.new_empty(tasks), g.new_empty(tasks, size)
    part = min(room_for(size), 128)
    grid = (tasks, -(-size // part))
    launch("chosen_rows", grid, *given, losses, to, rows, size, span=64, part=part)
    return losses, to
