"""How the kernels of `tam.models.fast.kernels.rows` are launched.

Shapes: R rows, L places, P places in all, d width.
"""

import math
from typing import Any

from torch import Tensor

from tam.models.fast.gpu_device import launch


def gather(rows: Tensor, source: Tensor) -> Tensor:
    """Launch the kernel that takes the rows `source` of `[P, d]`, 0 where that is −1."""
    from tam.models.fast import kernels

    width = rows.shape[1]
    out = rows.new_empty(len(source), width)
    constants: dict[str, Any] = {"span": 32, "part": math.gcd(width, 128)}
    grid = (-(-len(source) // constants["span"]), width // constants["part"])
    launch(kernels.gather, grid, rows.contiguous(), source, out, len(source), width, **constants)
    return out


def room_for(count: int) -> int:
    """The least power of 2 that is as large, and that the matrix units take."""
    return max(16, 1 << (count - 1).bit_length())
