"""Multi-head attention, plain and fused.

Shapes: R rows, L places, Q of them asking, d width, H heads, D = d / H.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.layers import Linear

LONG = 64  # places from which torch's kernel pays


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """What to add to attention scores: 0 where the mask is true, −∞ elsewhere."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -math.inf)


def plain_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """Attention from matrix products and a softmax, differentiable as often as one likes.

    The softmax is spelled out: over a handful of places torch's is several times slower on a CPU.
    """
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    weights = (scores - scores.amax(dim=-1, keepdim=True).detach()).exp()
    return (weights.to(v.dtype) @ v) / weights.sum(dim=-1, keepdim=True)


def fused_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """The same in one kernel, which has no second derivative."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=None if bias is None else bias.to(q.dtype))


class Attention(nn.Module):
    """Every asking place takes a mixture of the places that it may see."""

    def __init__(self, width: int, heads: int, generator: torch.Generator, *, out_std: float):
        super().__init__()
        self.heads = heads
        self.query = Linear(width, width, generator)
        self.key_value = Linear(width, 2 * width, generator)
        self.out = Linear(width, width, generator, std=out_std)

    def forward(
        self, asking: Tensor, seen: Tensor, bias: Tensor | None, before: Tensor | None = None, *, fused: bool
    ) -> Tensor:
        """Attend from `asking` `[R, Q, d]` to `seen` `[R, L, d]`.

        `bias` is added to the scores and broadcasts to `[R, H, Q, L]`. If keys and values of places before
        are given, `[R, 2, H, P, D]`, those are attended to as well, and come first in the bias.
        """
        attention = fused_attention if fused and seen.shape[1] > LONG else plain_attention
        keys, values = self.keys_values(seen)
        if before is not None:
            keys = torch.cat([before[:, 0].to(keys.dtype), keys], dim=2)
            values = torch.cat([before[:, 1].to(values.dtype), values], dim=2)
        return self.join(attention(self.queries(asking), keys, values, bias))

    def queries(self, asking: Tensor) -> Tensor:
        """What each head asks with, `[R, H, Q, D]`."""
        return self.query(asking).unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_values(self, seen: Tensor) -> tuple[Tensor, Tensor]:
        """What each head is answered by, `[R, H, L, D]` each."""
        keys, values = self.key_value(seen).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return keys, values

    def join(self, mixtures: Tensor) -> Tensor:
        """From what each head found, `[R, H, Q, D]`, the places' new vectors `[R, Q, d]`."""
        return self.out(mixtures.transpose(1, 2).flatten(2))
