"""Multi-head attention.

Shapes: R rows, L places, Q of them queried, X cached places, d width, H heads, D = d / H.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.fast.context import once_differentiable_on_gpu
from tam.models.layers import Linear
from tam.models.rotary import Rotation

ALL = slice(None)
LONG = 64  # above this many places, torch's kernel is faster


class Mask(NamedTuple):
    """Attention mask: every place sees the places `seen`, `[R, L]`; the rest are padding.

    If `causal`, a place sees itself, and of those `seen` the ones before it and the first `front`. Padding of
    x must see itself, or its softmax would be NaN. Padding of y comes last, so nothing else sees it.
    """

    seen: Tensor
    causal: bool
    front: int = 0
    padded: bool = True  # whether there may be padding

    @property
    def valid(self) -> Tensor | None:
        """True where a place holds a token, `[R, L]`; None if all do."""
        return self.seen if self.padded else None

    def matrix(self, places: int) -> Tensor | None:
        """What the last `places` (rows) see of all (columns); broadcasts to `[R, L, L]`. None: everything."""
        if not self.causal:
            return self.seen.unsqueeze(1) if self.padded else None
        length = self.seen.shape[-1]
        square = torch.ones(length, length, dtype=torch.bool, device=self.seen.device).tril()
        square[:, : self.front] = True
        itself = torch.eye(length, dtype=torch.bool, device=self.seen.device)
        return ((self.seen.unsqueeze(1) & square) | itself)[:, length - places :]


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask as a bias for attention scores: 0 where it is true, −∞ elsewhere."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -math.inf)


def for_places(bias: Tensor, places: slice) -> Tensor:
    """The rows of a bias for these queries."""
    return bias if bias.shape[-2] == 1 else bias[..., places, :]


def plain_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """Attention from matrix products and a softmax, differentiable any number of times.

    The softmax is written out: on a CPU, torch's is several times slower over a handful of places.
    """
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    weights = (scores - scores.amax(dim=-1, keepdim=True).detach()).exp()
    return (weights.to(v.dtype) @ v) / weights.sum(dim=-1, keepdim=True)


def torch_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """`plain_attention` in one kernel, which has no second derivative."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=None if bias is None else bias.to(q.dtype))


class Attention(nn.Module):
    """Multi-head attention with one projection for queries and one for keys and values."""

    def __init__(self, width: int, heads: int, generator: torch.Generator, *, out_std: float):
        super().__init__()
        self.heads = heads
        self.query = Linear(width, width, generator)
        self.key_value = Linear(width, 2 * width, generator)
        self.out = Linear(width, width, generator, std=out_std)

    def forward(
        self,
        seen: Tensor,
        read: slice,
        bias: Tensor | None,
        x_cache: Sequence[Tensor] = (),
        rotation: Rotation | None = None,
    ) -> Tensor:
        """Attend from the places `read` to all places `seen`, `[R, L, d]`.

        `bias` is added to the scores and broadcasts to `[R, H, Q, L]`. Cached keys and values of earlier
        places, `[R, H, X, D]` each, are attended to as well, and come first in the bias. `rotation` is for
        the L places.
        """
        once = seen.shape[1] > LONG and once_differentiable_on_gpu(seen)
        attention = torch_attention if once else plain_attention
        keys, values = self.keys_values(seen, rotation)
        if x_cache:
            keys = torch.cat([x_cache[0].to(keys.dtype), keys], dim=2)
            values = torch.cat([x_cache[1].to(values.dtype), values], dim=2)
        queries = self.queries(seen[:, read], None if rotation is None else rotation.at(read))
        return self.join(attention(queries, keys, values, bias))

    def queries(self, asking: Tensor, rotation: Rotation | None) -> Tensor:
        """The queries of each head, `[R, H, Q, D]`."""
        queries = self.query(asking).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return queries if rotation is None else rotation(queries)

    def keys_values(self, seen: Tensor, rotation: Rotation | None) -> tuple[Tensor, Tensor]:
        """The keys and the values of each head, `[R, H, L, D]` each."""
        keys, values = self.key_value(seen).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return keys if rotation is None else rotation(keys), values

    def join(self, mixtures: Tensor) -> Tensor:
        """Join the outputs of the heads, `[R, H, Q, D]`, and project them to `[R, Q, d]`."""
        return self.out(mixtures.transpose(1, 2).flatten(2))
