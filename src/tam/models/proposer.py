"""An encoder of the support that proposes a task embedding.

A small transformer reads every example `[CLS, x…, y…]` at CLS; an MLP maps the mean over a task's examples to
z. The initial proposal is z = 0.

Shapes: B tasks, N rows of each, R = B · N, d width, S components of a task embedding.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models import rotary
from tam.models.attention import Mask
from tam.models.batch import Batch
from tam.models.fast import engine
from tam.models.layers import EMBEDDING_STD, Embedding, Linear, normal
from tam.models.spec import ModelSpec
from tam.models.transformer import Transformer

_LAYERS = 2
# Bound on the components of a proposal. LayerNorms make the network almost invariant to the length of z, so
# without a bound proposals keep growing, and a search with steps of a fixed length barely moves from there.
_LONGEST = 0.5


class Proposer(nn.Module):
    """Maps a set of examples to z."""

    def __init__(self, spec: ModelSpec, size: int, generator: torch.Generator):
        super().__init__()
        width = spec.width
        self.cls = normal(generator, 1, width, std=EMBEDDING_STD)
        self.rotary = spec.positions == "rotary"
        max_x, max_y = (None, None) if self.rotary else (spec.x_places, max(spec.max_y, 1))
        self.x = Embedding(spec.vocabulary, max_x, width, generator)
        answers = spec.classes if spec.kind == "classification" else spec.vocabulary
        self.y = Embedding(answers, max_y, width, generator)
        self.backbone = Transformer(layers=_LAYERS, width=width, heads=spec.heads, generator=generator)
        self.inner = Linear(width + 1, 4 * width, generator)
        self.out = Linear(4 * width, size, generator, std=0.0)

    def forward(self, batch: Batch, rows: Tensor | None = None) -> Tensor:
        """Propose a task embedding for each task, `[B, S]`.

        Args:
            batch: The examples.
            rows: The examples to read, marked by 1, others by 0, `[B, N]`; None for all that are present.
        """
        features = self._read(batch).unflatten(0, (batch.tasks, batch.rows))
        weights = torch.ones_like(features[..., 0]) if rows is None else rows.to(features.dtype)
        if batch.present is not None:
            weights = weights * batch.present
        count = weights.sum(1, keepdim=True).clamp(min=1)
        mean = (features * weights.unsqueeze(2)).sum(1) / count
        proposed = self.out(F.gelu(self.inner(torch.cat([mean, count.log()], dim=1))))
        return _LONGEST * torch.tanh(proposed.to(torch.promote_types(proposed.dtype, torch.float32)))

    def _read(self, batch: Batch) -> Tensor:
        """The features of each example, `[R, d]`."""
        x = batch.x.flatten(0, 1).clamp(max=len(self.x.token) - 1)  # a token to copy is read as unknown
        in_x = batch.in_x.flatten(0, 1)
        if batch.y_length is None:
            y = batch.y.reshape(-1, 1)
            in_y = torch.ones_like(y, dtype=torch.bool)
            if batch.present is not None:
                in_y = batch.present.reshape(-1, 1)
        else:
            y = batch.y.flatten(0, 1).clamp(max=len(self.y.token) - 1)
            in_y = batch.in_y.flatten(0, 1)
        cls = self.cls.expand(len(x), 1, -1)
        sequence = torch.cat([cls, engine.embed(self.x, x, in_x), engine.embed(self.y, y, in_y)], dim=1)
        seen = [in_x.new_ones(len(x), 1), in_x, in_y]
        mask = Mask(torch.cat(seen, dim=1), causal=False, padded=batch.padded)
        positions = rotary.positions(seen, seen[0]) if self.rotary else None
        hidden = engine.transform(self.backbone, sequence, mask, read=slice(0, 1), positions=positions)
        return hidden.squeeze(1)
