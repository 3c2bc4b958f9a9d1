"""Mixtures: an extension of TAM in which several searches learn a new task and answer together.

The first search starts at a blank z, as in the paper, the others at the known embeddings that fit the support
best: those of the training tasks or, in the compositional form, of the primitives. The answer averages over
the searches, weighted by the likelihood each assigns to the support and, for sequences, to the tokens so far.

Shapes: B tasks, N rows per task, M searches, S components of a task embedding, Y width of y, V tokens.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from tam.methods.losses import example_losses
from tam.methods.method import Rate
from tam.methods.search import Search, fit_embeddings
from tam.models import Batch, Model, token_targets

SUPPORT_SHARE = 0.5
"""The weight of a support's log-likelihood: below 1, since a z fitted to the support overestimates it."""
_TOKENS_AT_ONCE = {"cpu": 10_000, "cuda": 2_000_000}
"""Approximate number of tokens per pass through the network: on a CPU, few enough to stay in its cache."""


def fit_mixtures(
    model: Model,
    support: Batch,
    start: Tensor,
    searches: int,
    steps: Sequence[int],
    rate: Rate,
    multiples: Sequence[float],
) -> list[Tensor]:
    """Learn B tasks, each by M searches; θ is fixed.

    The first searches start at `start`, `[B, S]`. There is one from every start at each of the `multiples` of
    the learning rate.

    Returns:
        For each number of steps one row per task, `[B, M · (1 + S)]`: weight and z of every search. Searches
        without a known embedding to start from have weight 0.
    """
    others = nearest_known(model, support, math.ceil(searches / len(multiples)) - 1)
    starts = torch.cat([start.unsqueeze(0), others])
    times = start.new_tensor(multiples).repeat(len(starts))[:searches]
    starts = starts.repeat_interleave(len(multiples), dim=0)[:searches]
    rates = torch.outer(times, torch.as_tensor(rate).to(times).expand(support.tasks))
    search, repeated = Search(starts.flatten(0, 1), rates.flatten()), support.repeat(len(starts))
    missing = (searches - len(starts)) * (1 + model.task_size)
    return [
        F.pad(_weighted(model, z, support), (0, missing))
        for z in fit_embeddings(search, model, repeated, steps)
    ]


@torch.no_grad()
def nearest_known(model: Model, support: Batch, count: int) -> Tensor:
    """The known embeddings with the lowest loss on each task's support, best first: `[count, B, S]`."""
    known = model.kept if model.primitives is None else model.primitives.detach()
    assert known is not None
    if not count:
        return known.new_empty(0, support.tasks, known.shape[1])

    def losses_at(z: Tensor) -> Tensor:
        """The loss of some known embeddings on every task, `[embeddings, B]`."""
        for_each_task = z.repeat_interleave(support.tasks, 0).unsqueeze(1)
        losses = example_losses(model, for_each_task, support.repeat(len(z))).per_task()
        return losses.unflatten(0, (len(z), support.tasks))

    tokens = support.tasks * support.rows * support.places
    at_once = max(1, _TOKENS_AT_ONCE[support.device.type] // tokens)
    losses = torch.cat([losses_at(z) for z in known.split(at_once)])
    return known[losses.argsort(dim=0)[:count]]


@torch.no_grad()
def _weighted(model: Model, z: Tensor, support: Batch) -> Tensor:
    """Pack the last z of the searches, `[M · B, S]`, with their weights: `[B, M · (1 + S)]`."""
    each = z.unflatten(0, (-1, support.tasks))
    totals = [example_losses(model, one.unsqueeze(1), support).total.sum(1) for one in each]
    weights = torch.softmax(-SUPPORT_SHARE * torch.stack(totals), dim=0)
    return torch.cat([weights.unsqueeze(2), each], dim=2).transpose(0, 1).flatten(1)


def mixed_outcomes(model: Model, states: Tensor, batch: Batch) -> Tensor:
    """Log-probabilities of all answers, as `Model.outcomes` returns them, for states from `fit_mixtures`.

    Searches of weight 0 are ignored.
    """
    members = states.unflatten(1, (-1, 1 + model.task_size)).split(1, dim=1)
    each = torch.stack([model.outcomes(model.condition(one[..., 1:], batch), batch) for one in members])
    return average(each, torch.stack([one[:, 0, 0] for one in members]), batch)


def average(each: Tensor, weights: Tensor, batch: Batch) -> Tensor:
    """The log-probabilities of a mixture, given each search's, `[M, B, …]`, and its weights, `[M, B]`."""
    weights = weights.log()
    if batch.y_length is None:
        return (each + weights[..., None, None]).logsumexp(0)
    so_far = weights[..., None, None] + _tokens_before(each, batch)  # [M, B, N, Y + 1]
    return (each + torch.log_softmax(so_far, dim=0).unsqueeze(-1)).logsumexp(0)


def _tokens_before(each: Tensor, batch: Batch) -> Tensor:
    """The summed log-probability of the tokens of y before each place, `[M, B, N, Y + 1]`."""
    target, scored = token_targets(batch, end=each.shape[-1] - 1)
    of_token = each.gather(-1, target.expand(len(each), *target.shape).unsqueeze(-1)).squeeze(-1) * scored
    return of_token.cumsum(-1) - of_token
