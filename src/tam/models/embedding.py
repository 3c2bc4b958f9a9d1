"""Token and position embeddings of one part of the sequence.

Shapes: R rows, L places, d width.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.launch import WIDTHS
from tam.models.launch_rows import embedding_gradients, room_for
from tam.models.linear import normal

EMBEDDING_STD = 0.3
_FEW = 256  # tokens and places up to which comparing with all of them is cheap


def within(length: Tensor, width: int) -> Tensor:
    """Which of `width` places hold a token rather than padding: `[..., width]` for lengths `[...]`."""
    return torch.arange(width, device=length.device) < length.unsqueeze(-1)


class Lookup(torch.autograd.Function):
    """The vectors of tokens and of their places, with a gradient that is fast and always the same.

    On a GPU the gradient of `F.embedding` is added up in any order, and slowly where there are few tokens.
    Here it is a product with one-hot vectors of tokens and places; in TF32, which keeps 10 bits after the
    first of each number that is added up.
    """

    @staticmethod
    def forward(ctx: Any, ids: Tensor, token: Tensor, position: Tensor) -> Tensor:
        """The rows `ids`, `[R, L]`, of the tokens' table `[V, d]`, plus the first L rows of the places'."""
        ctx.save_for_backward(ids)
        ctx.tokens, ctx.longest = len(token), len(position)
        return F.embedding(ids, token) + position[: ids.shape[1]]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor]:
        """The tables' gradients."""
        (ids,), (g,) = ctx.saved_tensors, gradients
        sums = _sums(g, ids, ctx.tokens)
        places = sums[ctx.tokens : ctx.tokens + ids.shape[1]]
        return None, sums[: ctx.tokens], F.pad(places, (0, 0, 0, ctx.longest - len(places)))


@torch.library.custom_op("tam::embedding_gradients", mutates_args=())
def _sums(g: Tensor, ids: Tensor, tokens: int) -> Tensor:
    """Sums of gradients `[R, L, d]` over each token, then over each place; `[V + L, d]` or more."""
    if g.is_cuda and g.stride(2) == 1:
        return embedding_gradients(g, ids, tokens).sum(0)
    sums = g.new_zeros(room_for(tokens + g.shape[1]), g.shape[2])
    sums.index_add_(0, ids.flatten(), g.flatten(0, 1))
    sums[tokens : tokens + g.shape[1]] = g.sum(0)
    return sums


@_sums.register_fake
def _(g: Tensor, ids: Tensor, tokens: int) -> Tensor:
    return g.new_empty(room_for(tokens + g.shape[1]), g.shape[2])


class Embedding(nn.Module):
    """The vectors of tokens, each with the vector of its place added.

    Places are counted from the start of this part, whatever stands before it.

    Attributes:
        fused: Whether our kernel may be used for the gradient, on a GPU.
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
        if given == 0:  # torch's second derivative of a lookup fails where there is nothing to look up
            return self.token.new_zeros(*ids.shape, self.token.shape[-1])
        ids = ids.masked_fill(~valid, 0)
        fits = given <= _FEW - len(self.token) and self.token.shape[1] in WIDTHS
        shared = isinstance(self.token, nn.Parameter)  # rather than a task's own
        if self.fused and self.token.is_cuda and fits and shared:
            return Lookup.apply(ids, self.token, self.position)
        return F.embedding(ids, self.token) + self.position[:given]
