"""Launches of the kernels in `tam.models.fast.kernels.adam`.

Shapes: B tasks, S numbers of each.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from tam.models.fast.gpu_device import launch
from tam.models.fast.gpu_packing import room_for

_BLOCK = 1024
_PROGRAMS = 128  # that sum squares

Betas = tuple[float, float]


class Vectors(NamedTuple):
    """θ and its Adam state, each as one long vector."""

    values: Tensor
    gradient: Tensor
    mean: Tensor
    square: Tensor


class Pieces:
    """The rows of embedding tables, and pieces of all other weights, in the vector of all weights."""

    def __init__(self, sizes: Sequence[tuple[int, int]], device: torch.device) -> None:
        """`sizes`: the size of each parameter, and of a row if it is a table, else 0."""
        rows: list[tuple[int, int]] = []
        others: list[tuple[int, int]] = []
        place = 0
        for size, width in sizes:
            to, step = (rows, width) if width else (others, _BLOCK)
            to += [(place + first, min(step, size - first)) for first in range(0, size, step)]
            place += size
        self.table_rows = len(rows)
        starts, lengths = zip(*rows, *others, strict=True)
        self.starts = torch.tensor(starts, dtype=torch.int64, device=device)
        self.lengths = torch.tensor(lengths, dtype=torch.int32, device=device)
        self.parts = torch.zeros(_PROGRAMS, device=device)
        self.corrections = torch.zeros(2, device=device)


def move_weights(
    vectors: Vectors,
    pieces: Pieces,
    count: Tensor,
    rate: Tensor,
    norm: Tensor,
    moves: Tensor,
    *,
    clip: float,
    betas: Betas,
    epsilon: float,
) -> None:
    """Update θ with Adam by the mean of `count` gradients, clipped to norm `clip`, and clear their sum.

    The rows of tables whose gradient is 0 are not updated; nothing is, if `count` is 0. Else this increments
    `moves`, the number of updates. `norm` becomes the norm of the mean gradient before clipping.
    """
    assert all(vector.dtype == torch.float32 and vector.is_contiguous() for vector in vectors)
    logs = {"log_beta1": math.log(betas[0]), "log_beta2": math.log(betas[1])}
    launch(
        "squares", (_PROGRAMS,), vectors.gradient, count, moves, pieces.corrections, pieces.parts,
        len(vectors.gradient), block=_BLOCK, **logs,
    )  # fmt: skip
    launch(
        "move", (len(pieces.starts),), *vectors, pieces.starts, pieces.lengths, pieces.parts,
        pieces.corrections, count, rate, norm, float(clip), pieces.table_rows, beta1=betas[0], beta2=betas[1],
        epsilon=epsilon, programs=_PROGRAMS, block=_BLOCK,
    )  # fmt: skip


class TaskMoments(NamedTuple):
    """The numbers of tasks, embeddings or weights, and their Adam state."""

    z: Tensor  # [B, S]
    mean: Tensor  # [B, S]
    square: Tensor  # [B, S]
    powers: Tensor  # [2], βᵗ of both betas after t steps, in float64


def move_tasks(
    state: TaskMoments, gradient: Tensor, active: Tensor, rate: Tensor, *, betas: Betas, epsilon: float
) -> TaskMoments:
    """Take a step of Adam on each active task; `rate` is shared, `[]` or `[1]`, or per task, `[B]`."""
    tasks, size = state.z.shape
    given = [*state[:3], gradient.contiguous()]
    assert all(tensor.dtype == torch.float32 and tensor.is_contiguous() for tensor in given)
    assert rate.numel() in (1, tasks)
    assert state.powers.dtype == torch.float64
    after = TaskMoments(*(torch.empty_like(tensor) for tensor in state))
    block = min(room_for(size), _BLOCK)
    launch(
        "move_tasks", (tasks, -(-size // block)), *given, active, state.powers, rate.contiguous(), *after,
        size, int(rate.numel() > 1), beta1=betas[0], beta2=betas[1], epsilon=epsilon, block=block,
    )  # fmt: skip
    return after


def watch_tasks(
    loss: Tensor, best: Tensor, worse: Tensor, active: Tensor, patience: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Update each task's lowest loss, steps without improvement and activity; also count active tasks."""
    state = [tensor.contiguous() for tensor in (loss, best, worse, active)]
    assert all(tensor.dtype == torch.float32 for tensor in state)
    after = [torch.empty_like(tensor) for tensor in state[1:]]
    count = loss.new_empty(())
    launch("watch_tasks", (1,), *state, patience, *after, count, len(loss), block=_BLOCK)
    return after[0], after[1], after[2], count
