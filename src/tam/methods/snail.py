"""SNAIL-like: a transformer that reads all input–output pairs of the support before the query.

Mishra, Rohaninejad, Chen, Abbeel: A Simple Neural Attentive Meta-Learner, ICLR 2018; with a transformer in
the place of its convolutions, as in the TAM paper. One model per k; nothing is fitted at test time.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from tam.config.methods import SnailSettings
from tam.methods.episodes import EpisodicMethod, episode, in_parts, learn, network_for, unknown_primitive
from tam.methods.losses import losses_of
from tam.methods.method import Losses, Update
from tam.models import Batch, Model, ModelSpec
from tam.models.support_state import unpack


@dataclass(frozen=True, kw_only=True)
class Snail(SnailSettings, EpisodicMethod):
    """SNAIL with its settings; a task's state is its support."""

    version: ClassVar[int] = 2

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """A network that reads pairs."""
        return network_for("answer from pairs", spec)

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """One episode of each task."""
        query = episode(batch, self.shots, model.spec.classes, self.episode_queries)
        log_prob = model(unknown_primitive(model, query), query)
        return learn(model, losses_of(log_prob, query), update)

    def outcomes(self, model: Model, states: Tensor, batch: Batch) -> Tensor:
        """Log p(· | x, the support; θ)."""

        def answers(states: Tensor, batch: Batch) -> Tensor:
            query = replace(batch, support=unpack(states, model.spec))
            return model.outcomes(model.condition(unknown_primitive(model, query), query), query)

        seen = states.shape[1]  # about as many places as numbers
        asking = batch.rows * (1 + batch.x.shape[-1] + (0 if batch.y_length is None else batch.y.shape[-1]))
        return in_parts(states, batch, model.spec.heads * seen * (seen + asking), answers)
