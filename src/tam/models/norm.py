"""LayerNorm whose scale and bias can be moved for each task.

Shapes: R rows in G groups of equal size that share an offset, L places, d width.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.layers import constant


@dataclass(frozen=True, eq=False)
class NormOffset:
    """What a task adds to one LayerNorm: `scale` and `bias`, both `[G, 1, d]`."""

    scale: Tensor
    bias: Tensor


def split_norm_offsets(z: Tensor, norms: int, width: int) -> tuple[NormOffset, ...]:
    """Read task embeddings `[G, norms · 2 · d]` as offsets: norm after norm, scale before bias."""
    parts = z.unflatten(-1, (norms, 2, 1, width)).unbind(1)
    return tuple(NormOffset(*part.unbind(1)) for part in parts)


class LayerNorm(nn.Module):
    """LayerNorm with the shared scale and bias, plus the task's offset."""

    def __init__(self, width: int, generator: torch.Generator):
        super().__init__()
        self.scale = constant(generator, width, value=1.0)
        self.bias = constant(generator, width, value=0.0)

    def forward(self, hidden: Tensor, offset: NormOffset | None = None) -> Tensor:
        """Normalise `[R, L, d]`."""
        if offset is None:
            return F.layer_norm(hidden, self.scale.shape, self.scale, self.bias)
        groups = offset.scale.shape[0]
        grouped = F.layer_norm(hidden, self.scale.shape).reshape(groups, -1, hidden.shape[-1])
        moved = grouped * (self.scale + offset.scale) + (self.bias + offset.bias)
        return moved.view(hidden.shape)
