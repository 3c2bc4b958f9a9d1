"""Decoding: from next-token scores to sequences, by beam search; one beam is greedy decoding.

Shapes: B rows, each a task of its own, K beams, V tokens; the id V is the end.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from tam.models import Condition, Model


class Decoded(NamedTuple):
    """The likeliest sequences of one row, best first."""

    sequences: list[list[int]]
    log_probs: list[float]


@torch.no_grad()
def decode(model: Model, condition: Condition, x: Tensor, x_length: Tensor, beams: int = 1) -> list[Decoded]:
    """The likeliest answers of every row.

    Args:
        model: A model for transduction.
        condition: One task for each row.
        x: Inputs `[B, 1, X]`, of lengths `x_length` `[B, 1]`.
        x_length: See `x`.
        beams: How many beginnings of a sequence are followed at a time.
    """
    rows, end = len(x), model.spec.vocabulary
    x, x_length = x.expand(-1, beams, -1), x_length.expand(-1, beams)
    tokens = x.new_zeros(rows, beams, 0)
    length = x_length.new_zeros(rows, beams)
    ended = torch.zeros_like(length, dtype=torch.bool)
    # At first all beams are the same: the others may not compete.
    score = torch.full((rows, beams), -torch.inf, device=x.device)
    score[:, 0] = 0.0
    for place in range(model.spec.max_y + 1):
        following = model.next_token(condition, x, x_length, tokens, length)
        following = following.masked_fill(ended.unsqueeze(-1), -torch.inf)
        following[..., end] = torch.where(ended, 0.0, following[..., end])
        if place == model.spec.max_y:  # no room for another token: end here
            following[..., :end] = -torch.inf
        score, best = (score.unsqueeze(-1) + following).flatten(1).topk(beams, dim=1)
        parent, token = best // (end + 1), best % (end + 1)
        tokens = torch.cat(
            [tokens.gather(1, parent.unsqueeze(-1).expand_as(tokens)), token.unsqueeze(-1)], -1
        )
        ended = ended.gather(1, parent) | (token == end)
        length = length.gather(1, parent) + ~ended
        if place < model.spec.max_y:
            tokens = tokens.masked_fill(tokens == end, 0)
        if bool(ended.all()):
            break
    return [
        Decoded([t[:n] for t, n in zip(row, lengths, strict=True)], scores)
        for row, lengths, scores in zip(tokens.tolist(), length.tolist(), score.tolist(), strict=True)
    ]
