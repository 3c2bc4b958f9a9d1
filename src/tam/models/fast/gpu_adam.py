"""How the kernels of `tam.models.fast.kernels.adam` are launched.

Shapes: B tasks, S numbers of each.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from tam.models.fast.gpu_device import launch
from tam.models.fast.gpu_packing import room_for

MOST_NUMBERS = 4096
"""Of a task that `move_tasks` takes."""
_BLOCK = 1024
_PROGRAMS = 128  # that add up squares

Betas = tuple[float, float]


class Vectors(NamedTuple):
    """θ and what Adam keeps for it, each one long vector."""

    values: Tensor
    gradient: Tensor
    mean: Tensor
    square: Tensor


class Pieces:
    """Where rows of embedding tables and pieces of everything else are in the vector of all weights."""

    def __init__(self, sizes: Sequence[tuple[int, int]], device: torch.device) -> None:
        """`sizes`: of each parameter how many numbers it has, and how many a row; 0 unless it is a table."""
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
    """Move θ by the mean gradient over `count` task-steps, clipped, and clear the gradient.

    Args:
        vectors: θ, the sum of gradients, and Adam's means, in float32.
        pieces: Where tables' rows are: one whose gradient is 0 stays.
        count: Of how many gradients there is the sum; if 0, nothing moves.
        rate: The rate.
        norm: Becomes the length of the mean gradient before clipping.
        moves: How many moves there were; raised by 1.
        clip: The greatest length of the mean gradient.
        betas: Of Adam.
        epsilon: Of Adam.
    """
    from tam.models.fast import kernels

    assert all(vector.dtype == torch.float32 and vector.is_contiguous() for vector in vectors)
    logs = {"log_beta1": math.log(betas[0]), "log_beta2": math.log(betas[1])}
    launch(
        kernels.squares, (_PROGRAMS,), vectors.gradient, count, moves, pieces.corrections, pieces.parts,
        len(vectors.gradient), block=_BLOCK, **logs,
    )  # fmt: skip
    launch(
        kernels.move, (len(pieces.starts),), *vectors, pieces.starts, pieces.lengths, pieces.parts,
        pieces.corrections, count, rate, norm, float(clip), pieces.table_rows, beta1=betas[0], beta2=betas[1],
        epsilon=epsilon, programs=_PROGRAMS, block=_BLOCK,
    )  # fmt: skip


class TaskMoments(NamedTuple):
    """Where the tasks are, and what Adam keeps for them."""

    z: Tensor  # [B, S]
    mean: Tensor  # [B, S]
    square: Tensor  # [B, S]
    powers: Tensor  # [2]: of both betas, after the steps so far, in float64


def move_tasks(
    state: TaskMoments, gradient: Tensor, active: Tensor, rate: Tensor, *, betas: Betas, epsilon: float
) -> TaskMoments:
    """One step of Adam on each active task; the rate is one for all, `[]` or `[1]`, or each task's own."""
    from tam.models.fast import kernels

    tasks, size = state.z.shape
    given = [*state[:3], gradient.contiguous()]
    assert all(tensor.dtype == torch.float32 and tensor.is_contiguous() for tensor in given)
    assert rate.numel() in (1, tasks)
    assert state.powers.dtype == torch.float64
    after = TaskMoments(*(torch.empty_like(tensor) for tensor in state))
    launch(
        kernels.move_tasks, (tasks,), *given, active, state.powers, rate.contiguous(), *after, size,
        int(rate.numel() > 1), beta1=betas[0], beta2=betas[1], epsilon=epsilon, block=room_for(size),
    )  # fmt: skip
    return after


def watch_tasks(
    loss: Tensor, best: Tensor, worse: Tensor, active: Tensor, patience: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Each task's lowest loss, its steps without a lower one, whether it still moves, and how many do."""
    from tam.models.fast import kernels

    state = [tensor.contiguous() for tensor in (loss, best, worse, active)]
    assert all(tensor.dtype == torch.float32 for tensor in state)
    after = [torch.empty_like(tensor) for tensor in state[1:]]
    count = loss.new_empty(())
    launch(kernels.watch_tasks, (1,), *state, patience, *after, count, len(loss), block=_BLOCK)
    return after[0], after[1], after[2], count
