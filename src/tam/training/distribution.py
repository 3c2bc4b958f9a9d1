"""Several processes on one run, by `torchrun`: tasks are split over ranks, gradients are summed.

Every rank holds all tasks and draws the same batch from the same seed; it then works on its share of
the tasks. Whenever θ moves, the gradients are summed over the ranks, so all have the same weights.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor

from tam.errors import UserError


@contextmanager
def process_group() -> Generator[None]:
    """Join the group that torchrun announces; alone, do nothing."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


def is_first() -> bool:
    """Whether this process prepares the run for all, before or after they have joined."""
    return int(os.environ.get("WORLD_SIZE", "1")) == 1 or int(os.environ.get("RANK", "0")) == 0


def rank() -> int:
    """The number of this process, 0 for the one that writes."""
    return dist.get_rank() if dist.is_initialized() else 0


def world_size() -> int:
    """How many processes work on the run."""
    return dist.get_world_size() if dist.is_initialized() else 1


def share(tasks: int) -> slice:
    """Which tasks of a batch are this rank's."""
    size = world_size()
    if tasks % size:
        raise UserError(f"{tasks} tasks a step cannot be split over {size} processes: give a multiple")
    return slice(rank() * tasks // size, (rank() + 1) * tasks // size)


def add_up(tensors: list[Tensor]) -> None:
    """Sum tensors over all ranks, in place, in one message."""
    if not dist.is_initialized():
        return
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    dist.all_reduce(flat)
    for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(part.view_as(tensor))
