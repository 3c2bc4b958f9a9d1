"""CAVIA: MAML whose inner steps update only the task embedding.

Zintgraf, Shiarlis, Kurin, Hofmann, Whiteson: Fast Context Adaptation via Meta-Learning, 2019,
https://arxiv.org/abs/1810.03642 (Algorithm 1 there). Its context parameters are our z.

In the compositional form z is the embedding of one primitive treated as unknown, as in TAM.

Shapes: B tasks, S components of a task embedding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from tam.config.methods import CaviaSettings
from tam.methods.episodes import check_support, split
from tam.methods.losses import example_losses
from tam.methods.method import Losses, Method, Rate, Update, move
from tam.methods.search import Descent, fit_embeddings
from tam.models import Batch, Model, no_weight_gradients


@dataclass(frozen=True, kw_only=True)
class CAVIA(CaviaSettings, Method):
    """CAVIA with its settings."""

    version: ClassVar[int] = 2
    fits_vector: ClassVar[bool] = True

    @property
    def allows_kernels(self) -> bool:
        """Only without second derivatives."""
        return self.order == "first"

    def check_rows(self, rows: int, shots: int, classes: int) -> None:
        """Raise an error unless a support leaves rows to query."""
        check_support(rows, self.support_sizes)

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """Update θ by the gradient of the query loss at the z fitted to the support."""
        support, query = split(batch, self.support_sizes)
        support = model.with_x_cache(support)
        z = model.blank(batch.tasks).requires_grad_()  # φ = 0
        first = None
        for _ in range(self.inner_steps):  # φ_i ← φ_i − α ∇φ L(φ_i, θ, support)
            losses = example_losses(model, z.unsqueeze(1), support).per_task()
            first = losses if first is None else first
            with no_weight_gradients():
                (gradient,) = torch.autograd.grad(losses.sum(), z, create_graph=self.order == "second")
            z = z - self.inner_rate * gradient
        losses = example_losses(model, z.unsqueeze(1), query).per_task()
        # θ ← θ − β ∇θ Σ L(φ_i, θ, query)
        return move(model, losses, update, first=first, inner_steps=self.inner_steps)

    def shortened(self) -> Method:
        """The same method with one inner step."""
        return replace(self, inner_steps=1)

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[Tensor]:
        """The embeddings `[B, S]` with the lowest support loss within each number of steps; θ is fixed."""
        return fit_embeddings(Descent(model.blank(support.tasks), rate), model, support, steps)
