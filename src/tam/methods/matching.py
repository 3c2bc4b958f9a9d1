"""Matching networks: the answer is a convex combination of the support's labels.

Vinyals, Blundell, Lillicrap, Kavukcuoglu, Wierstra: Matching Networks for One Shot Learning, NeurIPS 2016.
As in the TAM paper, a transformer that reads query and support example together computes their similarity.
One model per k; nothing is fitted at test time. Classification only.

Shapes: B tasks, N queries and M support examples per task, C classes.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from tam.config.methods import MatchingSettings
from tam.methods.episodes import EpisodicMethod, in_parts, unknown_primitive
from tam.models import Batch, Model
from tam.models.spec import Purpose

_NEVER = -1e9  # instead of log 0: −∞ would cause NaN gradients


@dataclass(frozen=True, kw_only=True)
class Matching(MatchingSettings, EpisodicMethod):
    """Matching networks with their settings; a task's state is its support."""

    version: ClassVar[int] = 3
    purpose: ClassVar[Purpose] = "compare"
    classification_only: ClassVar[bool] = True

    def log_prob(self, model: Model, query: Batch) -> Tensor:
        """Log-probabilities of the classes, from the similarity of a query to each support example."""
        return combine(model(unknown_primitive(model, query), query), query, model.spec.classes)

    def outcomes(self, model: Model, states: Tensor, batch: Batch) -> Tensor:
        """Log p(· | x, the support; θ)."""
        inside = 4 * model.spec.width  # numbers per token in the widest layer
        numbers = batch.rows * states.shape[1] * 2 * inside
        return in_parts(model, states, batch, numbers, partial(self.log_prob, model))


def combine(scores: Tensor, batch: Batch, classes: int) -> Tensor:
    """Log of Σᵢ softmax(scores)ᵢ · [yᵢ = c], `[B, N, C]`; −∞ for a class that is not in the support."""
    support = batch.support
    assert support is not None
    is_of = support.y.unsqueeze(1) == torch.arange(classes, device=scores.device).unsqueeze(1)  # [B, C, M]
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if support.present is not None:
        is_of = is_of & support.present.unsqueeze(1)
        scores = scores.masked_fill(~support.present.unsqueeze(1), -torch.inf)
    weights = scores.log_softmax(dim=-1).unsqueeze(2)  # [B, N, 1, M]
    total = weights.masked_fill(~is_of.unsqueeze(1), _NEVER).logsumexp(dim=-1)
    return total.masked_fill(~is_of.any(-1).unsqueeze(1), -torch.inf)
