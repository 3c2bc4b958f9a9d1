"""Dropout in the blocks of a transformer: on in a context, which only training opens."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from tam.models.fast.context import plain

_active: ContextVar[tuple[float, torch.Generator] | None] = ContextVar("tam: dropout", default=None)


@contextmanager
def dropping(share: float, generator: torch.Generator) -> Generator[None]:
    """Drop this share of what each block adds in this context, in plain code: no engine has dropout."""
    if not share:
        yield
        return
    token = _active.set((share, generator))
    try:
        with plain():
            yield
    finally:
        _active.reset(token)


def drop(change: Tensor) -> Tensor:
    """What a block adds, with a share of its numbers 0 and the others larger, in a context with dropout."""
    if (active := _active.get()) is None:
        return change
    share, generator = active
    kept = torch.rand(change.shape, generator=generator, device=change.device) >= share
    return change * kept / (1 - share)
