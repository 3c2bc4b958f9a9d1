"""Token and position embeddings of one part of the sequence.

Shapes: R rows, L places, d width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.fast.gpu_launch import WIDTHS
from tam.models.fast.gpu_sequence import Layout, Parts, Tokens
from tam.models.fast.sequence import vectors_of
from tam.models.layers import normal

EMBEDDING_STD = 0.3
_FEW = 256  # tokens and places up to which comparing with all of them is cheap


def within(length: Tensor, width: int) -> Tensor:
    """Which of `width` places hold a token rather than padding: `[..., width]` for lengths `[...]`."""
    return torch.arange(width, device=length.device) < length.unsqueeze(-1)


class Embedding(nn.Module):
    """The vectors of tokens, each with the vector of its place added.

    Places are counted from the start of this part, whatever stands before it.

    Attributes:
        fused: Whether our kernels may be used, on a GPU. The gradient of `F.embedding` is added up in any
            order there, and slowly where there are few tokens.
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
        if self.fused and self.token.is_cuda and few_enough(self, given):
            parts = Parts(x=Tokens(ids.contiguous(), self.token, self.position))
            return vectors_of(Layout(len(ids), (0, given, 0, 0)), parts).view(*ids.shape, -1)
        return F.embedding(ids, self.token) + self.position[:given]


def few_enough(embedding: Embedding, places: int) -> bool:
    """Whether our kernels take so many places of these tokens, with weights that all tasks share."""
    tokens, width = embedding.token.shape
    fits = places <= min(_FEW - tokens, len(embedding.position)) and width in WIDTHS
    return fits and isinstance(embedding.token, nn.Parameter)
