"""Packing sequences without padding, and unpacking them.

Shapes: R rows, L places, P places in all, d width.
"""

import math
from typing import Any

import torch
from torch import Tensor

from tam.models.fast.context import check_first_derivative
from tam.models.fast.gpu_device import launch


def gather(rows: Tensor, source: Tensor) -> Tensor:
    """Launch the kernel that selects the rows `source` of `[P, d]`; −1 selects zeros."""
    width = rows.shape[1]
    out = rows.new_empty(len(source), width)
    constants: dict[str, Any] = {"span": 32, "part": math.gcd(width, 128)}
    grid = (-(-len(source) // constants["span"]), width // constants["part"])
    launch("gather", grid, rows.contiguous(), source.contiguous(), out, len(source), width, **constants)
    return out


def room_for(count: int) -> int:
    """The smallest power of 2 that is at least `count` and that the matrix units support."""
    return max(16, 1 << (count - 1).bit_length())


def pack(valid: Tensor) -> tuple[list[Tensor], Tensor, Tensor]:
    """Map places to rows that hold only the valid places, one sequence after another.

    Returns:
        The sequences' first rows and lengths, `[R]` each, and the number of rows, `[1]`; the place that each
        row comes from; and the row that each place goes to, both `[R · L]`, −1 for none.
    """
    lengths = valid.sum(1)
    ends = lengths.cumsum(0)
    starts = ends - lengths
    row = torch.where(valid, starts.unsqueeze(1) + valid.cumsum(1) - 1, -1).flatten()
    count = len(row)
    source = row.new_full((count + 1,), -1)
    source = source.scatter(0, torch.where(row < 0, count, row), torch.arange(count, device=row.device))
    source = torch.where(torch.arange(count, device=row.device) < ends[-1], source[:count], -1)
    return [starts.int(), lengths.int(), ends[-1:].int()], source, row


class Rearrange(torch.autograd.Function):
    """Selects rows in any order; its backward pass is a selection too, which the caller provides."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, source: Tensor, back: Tensor) -> Tensor:
        """Select the rows `source`, −1 for zeros; `back` is the row that each one goes to, −1 for none."""
        ctx.save_for_backward(back)
        ctx.set_materialize_grads(False)
        return gather(rows, source)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, None, None]:
        """The gradient of the rows."""
        check_first_derivative()
        (back,), (g,) = ctx.saved_tensors, gradients
        return None if g is None else gather(g, back), None, None
