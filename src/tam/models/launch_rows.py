"""How the kernels of `tam.models.kernels.rows` are launched.

Shapes: R rows, L places, P places in all, d width.
"""

import math
from typing import Any

from torch import Tensor

from tam.models.compiling import launch


def embedding_gradients(g: Tensor, ids: Tensor, tokens: int) -> Tensor:
    """Launch the kernel that adds up gradients by token and by place: `[programs, tokens + L …, d]`.

    Args:
        g: The gradient at the vectors, `[R, L, d]`, with any strides but that of d.
        ids: The tokens, `[R, L]`.
        tokens: How many there are.
    """
    from tam.models import kernels

    rows, length, width = g.shape
    span = 64
    tiles = -(-rows * length // span)
    programs = min(tiles, 132)
    padded = room_for(tokens + length)
    sums = min(padded, 128)
    parts = g.new_empty(programs, padded, width)
    constants: dict[str, Any] = {"span": span, "D": width, "sums": sums, "num_warps": 8}
    strides = (g.stride(0), g.stride(1))
    each = -(-tiles // programs)
    grid = (programs, padded // sums)
    sizes = (rows * length, length, *strides, tokens, each)
    launch(kernels.embedding_gradients, grid, g, ids.contiguous(), parts, *sizes, **constants)
    return parts


def gather(rows: Tensor, source: Tensor) -> Tensor:
    """Launch the kernel that takes the rows `source` of `[P, d]`, 0 where that is −1."""
    from tam.models import kernels

    width = rows.shape[1]
    out = rows.new_empty(len(source), width)
    constants: dict[str, Any] = {"span": 32, "part": math.gcd(width, 128)}
    grid = (-(-len(source) // constants["span"]), width // constants["part"])
    launch(kernels.gather, grid, rows.contiguous(), source, out, len(source), width, **constants)
    return out


def room_for(count: int) -> int:
    """The least power of 2 that is as large, and that the matrix units take."""
    return max(16, 1 << (count - 1).bit_length())
