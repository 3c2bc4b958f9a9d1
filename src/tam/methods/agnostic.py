"""The task-agnostic transformer: trained on the examples of all tasks as if they were one task's.

A baseline of Logeswaran et al., Few-shot Sequence Learning with Transformers, 2020. A new task is learned by
fine-tuning all weights.

Shapes: B tasks, P weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from tam.config.methods import AgnosticSettings
from tam.methods import weights
from tam.methods.losses import example_losses
from tam.methods.method import Losses, Rate, Update, move
from tam.methods.search import Search
from tam.methods.weights import OwnWeights
from tam.models import Batch, Model, ModelSpec


@dataclass(frozen=True, kw_only=True)
class Agnostic(AgnosticSettings, OwnWeights):
    """The task-agnostic transformer; it has no settings."""

    version: ClassVar[int] = 2

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """A network without a task embedding."""
        if spec.compositional:
            raise ValueError("method 'agnostic' cannot use primitives: set use_primitives to False")
        return spec.without_embedding()

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """Update θ by the mean gradient of the batch."""
        losses = example_losses(model, None, batch).per_task()
        return move(model, losses, update)

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[Tensor]:
        """The weights `[B, P]` with the lowest support loss within each number of Adam steps."""
        return weights.fine_tune(Search, model, support, steps, rate)
