"""Adapters whose weights can be moved for each task (Houlsby et al. 2019, https://arxiv.org/abs/1902.00751).

Shapes: R rows in G groups of equal size that share an offset, L places, d width, r bottleneck.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.layers import constant, normal


@dataclass(frozen=True, eq=False)
class AdapterOffset:
    """What a task adds to one adapter: `[G, d, r]`, `[G, 1, r]`, `[G, r, d]` and `[G, 1, d]`."""

    down: Tensor
    down_bias: Tensor
    up: Tensor
    up_bias: Tensor


def adapter_size(width: int, bottleneck: int) -> int:
    """Number of weights of one adapter."""
    return 2 * width * bottleneck + bottleneck + width


def split_adapter_offsets(z: Tensor, adapters: int, width: int, bottleneck: int) -> tuple[AdapterOffset, ...]:
    """Read task embeddings `[G, adapters · size]` as offsets: adapter after adapter, down before up."""
    parts = z.unflatten(-1, (adapters, adapter_size(width, bottleneck))).unbind(1)
    return tuple(_split(part, width, bottleneck) for part in parts)


def _split(part: Tensor, width: int, bottleneck: int) -> AdapterOffset:
    shapes = (width, bottleneck), (1, bottleneck), (bottleneck, width), (1, width)
    pieces = part.split([rows * columns for rows, columns in shapes], dim=-1)
    return AdapterOffset(*(piece.unflatten(-1, shape) for piece, shape in zip(pieces, shapes, strict=True)))


class Adapter(nn.Module):
    """h ↦ h + up(GELU(down(h))), each weight the shared one plus the task's offset.

    `up` starts small, so that a block starts close to one without adapters, but not at zero: then
    `down` would get no gradient.
    """

    def __init__(self, width: int, bottleneck: int, generator: torch.Generator):
        super().__init__()
        self.down = normal(generator, width, bottleneck, std=width**-0.5)
        self.down_bias = constant(generator, bottleneck, value=0.0)
        self.up = normal(generator, bottleneck, width, std=0.02)
        self.up_bias = constant(generator, width, value=0.0)

    def forward(self, hidden: Tensor, offset: AdapterOffset | None = None) -> Tensor:
        """Adapt `[R, L, d]`."""
        if offset is None:
            return hidden + F.gelu(hidden @ self.down + self.down_bias) @ self.up + self.up_bias
        groups = offset.down.shape[0]
        grouped = hidden.reshape(groups, -1, hidden.shape[-1])
        inner = torch.baddbmm(self.down_bias + offset.down_bias, grouped, self.down + offset.down)
        change = torch.baddbmm(self.up_bias + offset.up_bias, F.gelu(inner), self.up + offset.up)
        return hidden + change.view(hidden.shape)
