"""Matching networks: the answer is a convex combination of the support's labels.

Vinyals, Blundell, Lillicrap, Kavukcuoglu, Wierstra: Matching Networks for One Shot Learning, NeurIPS 2016;
with a transformer that reads query and support example together as the similarity, as in the TAM paper.
One model per k; nothing is fitted at test time. Classification only.

Shapes: B tasks, N queries and M support examples of each, C classes.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from tam.config.methods import MatchingSettings
from tam.methods.episodes import EpisodicMethod, episode, in_parts, learn, network_for, unknown_primitive
from tam.methods.losses import losses_of
from tam.methods.method import Losses, Update
from tam.models import Batch, Model, ModelSpec
from tam.models.support_state import unpack

_NEVER = -1e9  # stands for log 0: −∞ would give NaN gradients


@dataclass(frozen=True, kw_only=True)
class Matching(MatchingSettings, EpisodicMethod):
    """Matching networks with their settings; a task's state is its support."""

    version: ClassVar[int] = 3
    classification_only: ClassVar[bool] = True

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """A network that compares inputs."""
        return network_for("compare", spec)

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """One episode of each task."""
        query = episode(batch, self.shots, model.spec.classes, self.episode_queries)
        scores = model(unknown_primitive(model, query), query)
        return learn(model, losses_of(combine(scores, query, model.spec.classes), query), update)

    def outcomes(self, model: Model, states: Tensor, batch: Batch) -> Tensor:
        """Log p(· | x, the support; θ)."""

        def answers(states: Tensor, batch: Batch) -> Tensor:
            query = replace(batch, support=unpack(states, model.spec))
            return combine(model(unknown_primitive(model, query), query), query, model.spec.classes)

        inside = 4 * model.spec.width  # numbers per token in the widest layer
        return in_parts(states, batch, batch.rows * states.shape[1] * 2 * inside, answers)


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
