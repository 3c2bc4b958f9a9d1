"""The multitask transformer: one embedding per training task, learned together with the weights.

A baseline of Logeswaran et al., Few-shot Sequence Learning with Transformers, 2020. A new task is learned by
fine-tuning a fresh embedding and, unless `finetune` excludes them, all weights.

In the compositional form the embeddings belong to primitives. In a share of each step's tasks, a learned
embedding for any unknown primitive replaces that of one primitive; a new primitive's embedding starts there.

Shapes: B tasks, S components of a task embedding, P fine-tuned numbers per task.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from tam.config.methods import MultitaskSettings
from tam.methods import weights
from tam.methods.losses import example_losses
from tam.methods.method import Losses, Method, Rate, Update, move
from tam.methods.search import Search, fit_embeddings
from tam.methods.weights import OwnWeights
from tam.models import Batch, Model, ModelSpec


@dataclass(frozen=True, kw_only=True)
class Multitask(MultitaskSettings, OwnWeights):
    """The multitask transformer with its settings."""

    version: ClassVar[int] = 2

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """A network with one embedding per training task, or with one for any unknown primitive."""
        return replace(spec, unknown=True) if spec.compositional else replace(spec, tasks=tasks)

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """Update θ, embeddings included, by the mean gradient of the batch."""
        losses = example_losses(model, self._trained(model, batch).unsqueeze(1), batch).per_task()
        return move(model, losses, update)

    def at_once(self, model: Model) -> int | None:
        """Bounded if each task has its own weights."""
        return super().at_once(model) if self.finetune == "all" else None

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[Tensor]:
        """The embeddings `[B, S]`, or embeddings and weights `[B, P]`, with the lowest support loss."""
        z = fresh(model)
        if self.finetune == "all":
            return weights.fine_tune(Search, model, support, steps, rate, z)
        return fit_embeddings(Search(z.expand(support.tasks, -1), rate), model, support, steps)

    def outcomes(self, model: Model, states: Tensor, batch: Batch) -> Tensor:
        """Log p(· | x, z; θ), each task with its own z, and its own θ if all weights were fine-tuned."""
        if self.finetune == "all":
            return super().outcomes(model, states, batch)
        return Method.outcomes(self, model, states, batch)

    def _trained(self, model: Model, batch: Batch) -> Tensor:
        """The embeddings of the tasks or, in the compositional form, of their unknown slots: `[B, S]`."""
        if model.task_embeddings is not None:
            assert batch.task is not None
            return F.embedding(batch.task, model.task_embeddings)
        assert batch.primitives is not None
        assert batch.unknown is not None
        assert batch.chance is not None
        assert model.primitives is not None
        assert model.unknown is not None
        ids = batch.primitives.gather(1, batch.unknown.unsqueeze(1)).squeeze(1)
        share = 0.5 if self.unknown_share is None else self.unknown_share
        is_unknown = (batch.chance[:, 0] < share).unsqueeze(1)
        return torch.where(is_unknown, model.unknown, F.embedding(ids, model.primitives))


def fresh(model: Model) -> Tensor:
    """The start of a new embedding, `[1, S]`: the training tasks' mean, or the unknown primitive's."""
    start = model.unknown if model.task_embeddings is None else model.task_embeddings.mean(0, keepdim=True)
    assert start is not None
    return start.detach()
