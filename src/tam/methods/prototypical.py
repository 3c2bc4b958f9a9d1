"""Prototypical networks: a class is the mean of its examples' features.

Snell, Swersky, Zemel: Prototypical Networks for Few-shot Learning, NeurIPS 2017. Classification only.
Shapes: B tasks, N rows per task, C classes, d features.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from tam.config.methods import PrototypicalSettings
from tam.methods.episodes import in_support, learn, log_uniform, network_for, unknown_primitive
from tam.methods.losses import losses_of
from tam.methods.method import Losses, Method, Rate, Update
from tam.models import Batch, Model, ModelSpec


@dataclass(frozen=True, kw_only=True)
class Prototypical(PrototypicalSettings, Method):
    """Prototypical networks; a task's state is the prototypes of its classes, `[B, C · d]`."""

    version: ClassVar[int] = 3
    classification_only: ClassVar[bool] = True

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """A network that returns features."""
        return network_for("embed", spec)

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """Train on one episode per task: the first rows of each class are the support, the rest queries."""
        assert batch.chance is not None
        shots = log_uniform((1, self.most_shots), batch.chance[:, :1])
        chosen = in_support(batch, shots, model.spec.classes)
        features = model(unknown_primitive(model, batch), batch)
        log_prob = near(features, prototypes(features, replace(batch, present=chosen), model.spec))
        present = ~chosen if batch.present is None else batch.present & ~chosen
        return learn(model, losses_of(log_prob, replace(batch, present=present)), update)

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[Tensor]:
        """The prototypes of the support; steps and rate are ignored."""
        with torch.no_grad():
            features = model(unknown_primitive(model, support), support)
            return [prototypes(features, support, model.spec).flatten(1)] * len(steps)

    def outcomes(self, model: Model, states: Tensor, batch: Batch) -> Tensor:
        """Log p(· | x, the prototypes; θ)."""
        features = model(unknown_primitive(model, batch), batch)
        return near(features, states.unflatten(1, (model.spec.classes, -1)))


def prototypes(features: Tensor, batch: Batch, spec: ModelSpec) -> Tensor:
    """The mean features of the present rows of each class, `[B, C, d]`; 0 for a class without a row."""
    is_of = batch.y.unsqueeze(1) == torch.arange(spec.classes, device=batch.device).unsqueeze(1)  # [B, C, N]
    if batch.present is not None:
        is_of = is_of & batch.present.unsqueeze(1)
    weights = is_of / is_of.sum(-1, keepdim=True).clamp(min=1)
    return weights.to(features.dtype) @ features


def near(features: Tensor, prototypes: Tensor) -> Tensor:
    """Log-softmax of −‖features − prototype‖² / √d over the classes with a prototype, `[B, N, C]`."""
    gap = (features.unsqueeze(2) - prototypes.unsqueeze(1)).square().sum(-1)
    has_one = prototypes.any(-1).unsqueeze(1)
    logits = (-gap / features.shape[-1] ** 0.5).masked_fill(~has_one, -torch.inf)
    return logits.log_softmax(dim=-1)
