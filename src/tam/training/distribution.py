"""Several processes on one run, started by `torchrun`: tasks are split over ranks, gradients are summed.

Every rank holds all tasks and draws the same batch from the same seed, then works on its share of the tasks.
For every update of θ, the gradients are summed over the ranks, so that all have the same weights.
"""

import hashlib
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from tam.errors import UserError

_PATIENCE = timedelta(minutes=10)  # with a process that neither responds nor exits


class LostProcessError(Exception):
    """Another process of the run ended, or no longer responds."""


@contextmanager
def process_group(device: str) -> Generator[None]:
    """Join the group of torchrun's processes, for a run on this device; do nothing in a single process."""
    if launched() == 1:
        yield
        return
    if device != "cpu":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    try:
        dist.init_process_group("gloo" if device == "cpu" else "nccl", timeout=_PATIENCE)
    except (RuntimeError, ValueError) as error:
        raise UserError(f"the processes of this run could not connect: {_reason(error)}") from None
    yield
    # Not after an error: leaving a group that has lost a process can hang.
    dist.destroy_process_group()


def is_first() -> bool:
    """Whether this process prepares the run for all; may be called before they have joined."""
    return launched() == 1 or int(os.environ.get("RANK", "0")) == 0


def launched() -> int:
    """The number of processes that torchrun started, whether or not they have joined."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    """The rank of this process; rank 0 writes the files."""
    return dist.get_rank() if dist.is_initialized() else 0


def world_size() -> int:
    """The number of processes of the run."""
    return dist.get_world_size() if dist.is_initialized() else 1


def share(tasks: int) -> slice:
    """This rank's tasks of a batch; ranks have equal numbers of tasks, give or take one."""
    size = world_size()
    return slice(rank() * tasks // size, (rank() + 1) * tasks // size)


def check_processes(device: str, tasks: int) -> None:
    """Raise an error, before the processes join, unless each has a task and, if asked for, a GPU."""
    size, here = launched(), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if tasks < size:
        raise UserError(f"{tasks} tasks a step cannot be split over {size} processes: each needs a task")
    if size == 1 or device == "cpu":
        return
    if ":" in device:
        raise UserError(f"with several processes, each uses its own GPU: device must be cuda, not {device}")
    if here > (gpus := torch.cuda.device_count()):
        raise UserError(
            f"{here} processes on this host cannot share its {gpus} GPUs: start one process per GPU, or give "
            "device cpu"
        )


def add_up(tensors: list[Tensor]) -> None:
    """Sum tensors over all ranks, in place, in one message."""
    if not dist.is_initialized():
        return
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    _reduce(flat, dist.ReduceOp.SUM)
    for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(part.view_as(tensor))


def all_have(text: str, device: torch.device) -> bool:
    """Whether all ranks have the same text."""
    if not dist.is_initialized():
        return True
    digest = int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])
    extremes = torch.tensor([digest, -digest], device=device)
    _reduce(extremes, dist.ReduceOp.MAX)
    return bool(extremes.sum() == 0)


def _reduce(values: Tensor, operation: dist.ReduceOp.RedOpType) -> None:
    try:
        dist.all_reduce(values, operation)
    except RuntimeError as error:  # the narrowest class that gloo raises
        raise LostProcessError(
            f"process {rank()} (of {world_size()}, from 0) lost another process of the run: {_reason(error)}"
        ) from None


def _reason(error: Exception) -> str:
    """The first sentence of torch's message, without the source location."""
    line = str(error).partition("\n")[0]
    return re.sub(r"^\[\S+:\d+\] ", "", line).partition(". ")[0]
