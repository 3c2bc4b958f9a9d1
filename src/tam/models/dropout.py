"""Dropout in the blocks of a transformer, active only in a context that training enters."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from tam.models.fast.context import having, plain

_active: ContextVar[tuple[float, torch.Generator] | None] = ContextVar("tam: dropout", default=None)


@contextmanager
def dropping(share: float, generator: torch.Generator) -> Generator[None]:
    """Apply dropout with this rate in this context, with plain code, as no engine has dropout."""
    if not share:
        yield
        return
    with having(_active, (share, generator)), plain():
        yield


def drop(change: Tensor) -> Tensor:
    """Apply dropout to what a block adds to the residual stream; the identity outside `dropping`."""
    if (active := _active.get()) is None:
        return change
    share, generator = active
    kept = torch.rand(change.shape, generator=generator, device=change.device) >= share
    return change * kept / (1 - share)
