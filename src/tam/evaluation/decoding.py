"""Beam search from next-token scores to sequences; one beam is greedy decoding.

Shapes: B rows, each of its own task, V tokens; the end token has id V.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from tam.methods import Method, TaskStates
from tam.models import Batch, Model, ModelSpec


class Decoded(NamedTuple):
    """The most likely sequences of one row, best first, with their log-probabilities."""

    sequences: list[list[int]]
    log_probs: list[float]


@torch.no_grad()
def decode(method: Method, model: Model, states: TaskStates, batch: Batch, beams: int = 1) -> list[Decoded]:
    """The `beams` most likely answers of every row, or all possible ones if there are fewer.

    Args:
        method: The method that learned the tasks.
        model: A model for transduction.
        states: The state of each row's task.
        batch: The inputs, one row per task; its answers are ignored.
        beams: The number of partial sequences to keep.
    """
    rows, spec = batch.tasks, model.spec
    x, x_length = batch.x.expand(-1, beams, -1), batch.x_length.expand(-1, beams)
    tokens = x.new_zeros(rows, beams, 0)
    length = x_length.new_zeros(rows, beams)
    ended = torch.zeros_like(length, dtype=torch.bool)
    # All beams start equal: only the first may compete.
    score = torch.full((rows, beams), -torch.inf, device=x.device)
    score[:, 0] = 0.0
    longest = longest_answers(spec, x_length)
    last = int(longest.max())
    for place in range(last + 1):
        known = replace(batch, x=x, x_length=x_length, y=tokens, y_length=length, padded=True)
        following = _next_token(method.outcomes(model, states, known), length)
        end = following.shape[-1] - 1
        following[..., spec.named : spec.vocabulary] = -torch.inf  # not tokens of the user's
        following = following.masked_fill(ended.unsqueeze(-1), -torch.inf)
        following[..., end] = torch.where(ended, 0.0, following[..., end])
        following[..., :end].masked_fill_((longest <= place).unsqueeze(-1), -torch.inf)  # no room
        score, best = (score.unsqueeze(-1) + following).flatten(1).topk(beams, dim=1)
        parent, token = best // (end + 1), best % (end + 1)
        tokens = torch.cat(
            [tokens.gather(1, parent.unsqueeze(-1).expand_as(tokens)), token.unsqueeze(-1)], -1
        )
        ended = ended.gather(1, parent) | (token == end)
        length = length.gather(1, parent) + ~ended
        if place < last:
            tokens = tokens.masked_fill(tokens == end, 0)
        if bool(ended.all()):
            break
    return list(map(_decoded, tokens.tolist(), length.tolist(), score.tolist()))


def _decoded(beams: list[list[int]], lengths: list[int], log_probs: list[float]) -> Decoded:
    """The sequences of one row, without beams that could not be filled."""
    filled = [place for place, log_prob in enumerate(log_probs) if log_prob != -math.inf]
    return Decoded(
        [beams[place][: lengths[place]] for place in filled], [log_probs[place] for place in filled]
    )


def longest_answers(spec: ModelSpec, x_length: Tensor) -> Tensor:
    """Most tokens in the answer to each input, given the inputs' lengths: as many as in the tasks.

    A model that takes longer sequences may use twice as many, and more for longer inputs.
    """
    as_long = (x_length / max(spec.x_places, 1)).clamp(min=1)
    return (2 * spec.max_y * as_long).ceil().long().clamp(max=spec.longest_y)


def _next_token(outcomes: Tensor, length: Tensor) -> Tensor:
    """Log-probabilities of the token after y, `[B, N, V + 1]`."""
    place = length[..., None, None].expand(-1, -1, 1, outcomes.shape[-1])
    return outcomes.gather(2, place).squeeze(2)
