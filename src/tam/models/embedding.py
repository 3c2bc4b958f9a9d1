"""Token and position embeddings of one part of the sequence.

Shapes: R rows, L places, d width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.linear import normal

EMBEDDING_STD = 0.3


def within(length: Tensor, width: int) -> Tensor:
    """Which of `width` places hold a token rather than padding: `[..., width]` for lengths `[...]`."""
    return torch.arange(width, device=length.device) < length.unsqueeze(-1)


class Embedding(nn.Module):
    """The vectors of tokens, each with the vector of its place added.

    Places are counted from the start of this part, whatever stands before it.
    """

    def __init__(self, vocabulary: int, longest: int, width: int, generator: torch.Generator):
        super().__init__()
        self.token = normal(generator, vocabulary, width, std=EMBEDDING_STD)
        self.position = normal(generator, longest, width, std=EMBEDDING_STD)

    def forward(self, ids: Tensor, valid: Tensor) -> Tensor:
        """Embed ids `[R, L]`; where not `valid`, the id may be any number."""
        longest, given = self.position.shape[0], ids.shape[-1]
        if given > longest:
            raise ValueError(f"the model was built for sequences of up to {longest} tokens, not {given}")
        tokens = F.embedding(ids.masked_fill(~valid, 0), self.token)
        return tokens + self.position[:given]
