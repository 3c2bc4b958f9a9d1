"""Token and position embeddings of one part of the sequence.

Shapes: R rows, L places, d width.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.linear import normal

EMBEDDING_STD = 0.3
_FEW = 256  # tokens up to which comparing with all of them is cheap
_CHUNKS = 128  # at most, in which a gradient is added up


def within(length: Tensor, width: int) -> Tensor:
    """Which of `width` places hold a token rather than padding: `[..., width]` for lengths `[...]`."""
    return torch.arange(width, device=length.device) < length.unsqueeze(-1)


class Lookup(torch.autograd.Function):
    """Rows of a table, as `F.embedding` gives them.

    On a GPU the gradient of `F.embedding` is added up in any order, and slowly where there are few tokens.
    Here it is a product with one-hot vectors.
    """

    @staticmethod
    def forward(ctx: Any, ids: Tensor, table: Tensor) -> Tensor:
        """The rows `ids`, `[..., d]`, of a table `[V, d]`."""
        ctx.save_for_backward(ids)
        ctx.tokens = len(table)
        return F.embedding(ids, table)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        """The table's gradient."""
        (ids,), (g,) = ctx.saved_tensors, gradients
        chunks = math.gcd(ids.numel(), _CHUNKS)
        is_token = ids.reshape(chunks, -1, 1) == torch.arange(ctx.tokens, device=ids.device)
        with torch.autocast(g.device.type, enabled=False):
            parts = is_token.to(g.dtype).transpose(1, 2) @ g.reshape(chunks, -1, g.shape[-1])
            return None, parts.sum(0)


class Embedding(nn.Module):
    """The vectors of tokens, each with the vector of its place added.

    Places are counted from the start of this part, whatever stands before it.

    Attributes:
        fused: Whether the fast way to the gradient may be taken on a GPU.
    """

    def __init__(self, vocabulary: int, longest: int, width: int, generator: torch.Generator):
        super().__init__()
        self.fused = False
        self.token = normal(generator, vocabulary, width, std=EMBEDDING_STD)
        self.position = normal(generator, longest, width, std=EMBEDDING_STD)

    def forward(self, ids: Tensor, valid: Tensor) -> Tensor:
        """Embed ids `[R, L]`; where not `valid`, the id may be any number."""
        longest, given = self.position.shape[0], ids.shape[-1]
        if given > longest:
            raise ValueError(f"the model was built for sequences of up to {longest} tokens, not {given}")
        fast = self.fused and self.token.is_cuda and len(self.token) <= _FEW
        lookup = Lookup.apply if fast else F.embedding
        tokens = lookup(ids.masked_fill(~valid, 0), self.token)
        return tokens + self.position[:given]
