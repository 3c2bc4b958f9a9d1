"""MAML: weights from which a few steps of gradient descent learn a new task.

Finn, Abbeel, Levine: Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks, 2017,
https://arxiv.org/abs/1703.03400 (Algorithm 2 there).

In the compositional form the network reads the primitives; one learned embedding, part of the weights, stands
for any unknown primitive.

Shapes: B tasks, P weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from tam.config.methods import MamlSettings
from tam.methods import weights
from tam.methods.episodes import check_support, split
from tam.methods.method import Losses, Rate, Update, move
from tam.methods.search import Descent
from tam.methods.weights import OwnWeights
from tam.models import Batch, Model, ModelSpec


@dataclass(frozen=True, kw_only=True)
class MAML(MamlSettings, OwnWeights):
    """MAML with its settings."""

    version: ClassVar[int] = 2

    @property
    def allows_kernels(self) -> bool:
        """No: each task has its own weights."""
        return False

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """A network without a task embedding; in the compositional form, with one for unknown primitives."""
        return replace(spec, unknown=True) if spec.compositional else spec.without_embedding()

    def check_rows(self, rows: int, shots: int, classes: int) -> None:
        """Raise an error unless a support leaves rows to query."""
        check_support(rows, self.support_sizes)

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """Update θ by the gradient of the query loss under the weights fitted to the support."""
        support, query = split(batch, self.support_sizes)
        own = weights.copies(model, batch.tasks, model.unknown)
        first = None
        for _ in range(self.inner_steps):  # θ_i ← θ_i − α ∇ L(θ_i, support)
            losses = weights.losses(model, own, support)
            first = losses if first is None else first
            gradients = torch.autograd.grad(
                losses.sum(),
                list(own.values()),
                create_graph=self.order == "second",
                materialize_grads=True,  # zeros for unused weights, such as those of y if all y are empty
            )
            own = {
                name: torch.add(weight, gradient, alpha=-self.inner_rate)
                for (name, weight), gradient in zip(own.items(), gradients, strict=True)
            }
        losses = weights.losses(model, own, query)
        # θ ← θ − β ∇ Σ L(θ_i, query)
        return move(model, losses, update, first=first, inner_steps=self.inner_steps)

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[Tensor]:
        """The weights `[B, P]` with the lowest support loss within each number of gradient descent steps."""
        return weights.fine_tune(Descent, model, support, steps, rate, model.unknown)
