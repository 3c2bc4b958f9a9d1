"""A network that scores how alike two inputs are, from their concatenation.

Shapes: B tasks, N queries and M labelled inputs of each, d width, X the padded width of an input.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from tam.models.batch import Batch
from tam.models.embedding import EMBEDDING_STD, within
from tam.models.layers import normal
from tam.models.model import Model
from tam.models.precision import in_own_precision
from tam.models.spec import ModelSpec


class CompareModel(Model):
    """(x, x′) ↦ a score, read in front of `[…, x, x′]`. Tokens are shared, places each input's own."""

    def __init__(self, spec: ModelSpec, generator: torch.Generator):
        super().__init__(spec, generator)
        self.position = normal(generator, spec.max_x, spec.width, std=EMBEDDING_STD)

    @in_own_precision
    def forward(self, z: Tensor | None, batch: Batch) -> Tensor:
        """The score of every input with every input of the support, `[B, N, M]`, whatever the answers."""
        condition, support = self.condition(z, batch), batch.support
        if support is None:
            raise ValueError("this model compares inputs: give the batch a support")
        in_x = within(batch.x_length, batch.x.shape[-1])
        in_other = within(support.x_length, support.x.shape[-1])
        if support.present is not None:
            in_other = in_other & support.present.unsqueeze(-1)
        x = self.x(batch.x.flatten(0, 1), in_x.flatten(0, 1)).unflatten(0, in_x.shape[:2])
        other = F.embedding(support.x.masked_fill(~in_other, 0), self.x.token)
        other = other + self.position[: other.shape[-2]]
        lead = self._lead(condition, 1)[:, None, None]  # [B, 1, 1, K or K + 1, d]
        parts = [lead, x.unsqueeze(2), other.unsqueeze(1)]
        seen = [lead.new_ones(lead.shape[:-1], dtype=torch.bool), in_x.unsqueeze(2), in_other.unsqueeze(1)]
        shape = (batch.tasks, batch.rows, support.rows)
        sequence = torch.cat([part.expand(*shape, -1, -1) for part in parts], dim=3).flatten(0, 2)
        valid = torch.cat([part.expand(*shape, -1) for part in seen], dim=3).flatten(0, 2)
        batch = replace(batch, padded=True)  # examples may be missing
        hidden = self._transform(sequence, valid, condition, batch, slice(0, 1), causal=False)
        return self.head(hidden).view(shape)

    def outcomes(self, condition: object, batch: Batch) -> Tensor:
        """An error: what the scores say about answers is the method's to tell."""
        raise ValueError("a network to compare gives scores, and no answers")
