"""The nearest-neighbour floor: the answer of the support example whose input is most similar to the query.

Nothing is trained. Similarity is the number of places with the same token. Tied examples share a probability
of 1 − `smoothing`; the rest is spread over all answers.

Shapes: B tasks, N queries and M support examples per task, C classes, V tokens, X and Y padded widths.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from tam.config.methods import NearestSettings
from tam.errors import UserError
from tam.methods.episodes import in_parts
from tam.methods.method import Losses, Method, Rate, Update
from tam.models import Batch, Model, ModelSpec, token_targets
from tam.models.layers import within
from tam.models.support_state import pack_support


@dataclass(frozen=True, kw_only=True)
class Nearest(NearestSettings, Method):
    """The nearest neighbour with its settings; a task's state is its support."""

    version: ClassVar[int] = 1
    keeps_support: ClassVar[bool] = True

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """The smallest possible network; it is never used."""
        none = {"primitives": 0, "slots": 0, "copies": False, "bottleneck": None, "conditioning": "none"}
        plain = {"backbone": "transformer", "positions": "table"}
        return replace(spec, layers=1, width=1, heads=1, **none, **plain)

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """Raise an error: there is nothing to train."""
        raise UserError("the nearest neighbour is not trained: steps must be 0")

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[Tensor]:
        """The support itself; steps and rate are ignored."""
        return [pack_support(support, model.spec)] * len(steps)

    def outcomes(self, model: Model, states: Tensor, batch: Batch) -> Tensor:
        """The nearest examples' answers share probability 1 − smoothing, all answers share the rest."""

        def answers(batch: Batch) -> Tensor:
            support = batch.support
            assert support is not None
            weights = nearest(batch, support)
            if batch.y_length is None:
                votes = weights @ _one_hot(support.y, model.spec.outputs)
                classes = batch.classes
                if classes is None:
                    classes = torch.full_like(batch.x_length[:, 0], model.spec.classes)
                uniform = within(classes, model.spec.classes) / classes.unsqueeze(1)  # [B, C]
                return self._smooth(votes, uniform.unsqueeze(1))
            target, _ = token_targets(support, end=model.spec.vocabulary)
            target = target[..., : batch.y.shape[-1] + 1]
            votes = torch.einsum("bnm,bmyv->bnyv", weights, _one_hot(target, model.spec.outputs))
            return self._smooth(votes, torch.full_like(votes[:1, :1, :1], 1 / model.spec.outputs))

        numbers = (batch.rows + 1) * states.shape[1] * model.spec.outputs
        return in_parts(model, states, batch, numbers, answers)

    def _smooth(self, votes: Tensor, uniform: Tensor) -> Tensor:
        return ((1 - self.smoothing) * votes + self.smoothing * uniform).log()


def nearest(batch: Batch, support: Batch) -> Tensor:
    """The examples nearest to each query, as weights that sum to 1: `[B, N, M]`."""
    width = max(batch.x.shape[-1], support.x.shape[-1])
    x, other = (_padded(rows, width) for rows in (batch, support))
    gap = (x.unsqueeze(2) != other.unsqueeze(1)).sum(-1)
    assert support.present is not None
    gap = gap.masked_fill(~support.present.unsqueeze(1), width + 1)
    chosen = gap == gap.amin(-1, keepdim=True)
    return chosen / chosen.sum(-1, keepdim=True)


def _padded(batch: Batch, width: int) -> Tensor:
    """Inputs `[B, N, X]` with −1 in the padding, so that padding differs from every token."""
    x = batch.x.masked_fill(~batch.in_x, -1)
    return torch.nn.functional.pad(x, (0, width - x.shape[-1]), value=-1)


def _one_hot(ids: Tensor, size: int) -> Tensor:
    return (ids.unsqueeze(-1) == torch.arange(size, device=ids.device)).float()
