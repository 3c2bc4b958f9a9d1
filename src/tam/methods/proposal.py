"""Proposals: an extension of TAM in which an encoder of the support says where the search for z starts.

The encoder is trained along, with what Algorithm 1 computes anyway: its first pass has the gradient of a
task's loss, over all rows, at the z that it starts from, and that gradient goes on into the encoder.

Shapes: B tasks, N rows of each, S components of a task embedding.
"""

import torch
from torch import Tensor

from tam.models import Batch, Model


class Proposal:
    """Where the searches of a batch start, and how the encoder learns from their first gradients.

    Attributes:
        z: `[B, S]`, without a graph: proposed, but for tasks with a warm start, which go on from there.
    """

    def __init__(self, model: Model, batch: Batch, chosen: Tensor | None) -> None:
        with torch.enable_grad():
            self._proposed = model.propose(batch, chosen)
        self.z, self._learns = self._proposed.detach(), torch.ones_like(self._proposed[:, :1])
        if batch.start is not None:
            warm = (batch.start != 0).any(1, keepdim=True)
            self.z = torch.where(warm, batch.start, self.z)
            self._learns = (~warm).to(self.z.dtype)

    def learn(self, model: Model, gradient: Tensor) -> None:
        """Add to `.grad` of the encoder what the gradients at `z`, `[B, S]`, make of it."""
        assert model.proposer is not None
        weights = list(model.proposer.parameters())
        torch.autograd.backward(self._proposed, gradient * self._learns, inputs=weights)
