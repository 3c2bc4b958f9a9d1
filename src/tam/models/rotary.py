"""Rotary positions: queries and keys are rotated by angles that grow with their position.

The product of a query and a key then depends only on the difference of their positions, and sequences may be
longer than in training. Su et al.: RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021.

Tokens of x and of y are each counted from 1, whatever the padding, and the task's places are at 0. So the
same index in x and y is at the same distance in long sequences as in short ones.

Shapes: L places, D size of a head.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

_BASE = 10_000.0


class Rotation(NamedTuple):
    """Cosines and sines of the angles of each place, `[L, D / 2]` each."""

    cos: Tensor
    sin: Tensor

    @classmethod
    def of(cls, positions: Tensor, size: int, dtype: torch.dtype) -> "Rotation":
        """The rotation at these positions `[L]`, for heads of size D."""
        pairs = torch.arange(size // 2, dtype=torch.float64, device=positions.device)
        angles = positions.unsqueeze(1) * _BASE ** (-2 * pairs / size)
        return cls(angles.cos().to(dtype), angles.sin().to(dtype))

    def __call__(self, vectors: Tensor) -> Tensor:
        """Rotate `[…, L, D]`, pairing component i with component i + D / 2."""
        first, second = vectors.chunk(2, dim=-1)
        rotated = [first * self.cos - second * self.sin, second * self.cos + first * self.sin]
        return torch.cat(rotated, dim=-1).to(vectors.dtype)

    @property
    def inverse(self) -> "Rotation":
        """The inverse rotation, which is also the transpose."""
        return Rotation(self.cos, -self.sin)

    def at(self, places: slice) -> "Rotation":
        """The rotation of some of the places."""
        return Rotation(self.cos[places], self.sin[places])


def positions(parts: Sequence[Tensor], task: Tensor | None = None) -> Tensor:
    """The position of each place of a sequence, `[L]`.

    Args:
        parts: The mask of tokens of each part of the sequence, `[…, places]`.
        task: The mask of the task's places, which occurs in `parts` once or twice.
    """
    counts = (torch.arange(1, part.shape[-1] + 1, device=part.device) for part in parts)
    each = [count * 0 if part is task else count for part, count in zip(parts, counts, strict=True)]
    return torch.cat(each)
