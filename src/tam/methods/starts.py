"""Where the searches of a training step start: at a blank z in the paper, elsewhere in our extensions.

With warm starts, a random share of an outer step's tasks continue from the z of their last search. θ then
also learns from embeddings that are nearly right, as in alternating minimisation, while the other tasks keep
teaching it to be searched from 0. With a proposer, an encoder of the support proposes where those start.

Shapes: B tasks, S components of a task embedding.
"""

from dataclasses import replace

import torch
from torch import Tensor

from tam.methods.objective import Gradients, Objective
from tam.models import Batch


class Start:
    """The start of each task's search.

    The proposer is trained on what Algorithm 1 computes anyway: the gradient of the first pass with respect
    to z is backpropagated into it.

    Attributes:
        z: The starting z, `[B, S]`, detached.
    """

    def __init__(self, objective: Objective) -> None:
        model, batch = objective.model, objective.batch
        self.z = model.blank(batch.tasks) if batch.start is None else batch.start
        self._encoder = model.proposer
        if self._encoder is None:
            return
        with torch.enable_grad():
            self._proposed = model.propose(batch, objective.z_rows)
        warm = (self.z != 0).any(1, keepdim=True)
        self._learns = (~warm).to(self.z.dtype)
        self.z = torch.where(warm, self.z, self._proposed.detach())

    def learn(self, found: Gradients) -> None:
        """Backpropagate the gradient at `z` into the `.grad` of the encoder's weights, if there are any."""
        if self._encoder is not None:
            weights = list(self._encoder.parameters())
            gradient = found.of_rows.sum(1) * self._learns  # over all rows, whichever z is fitted to
            (self._proposed * gradient).sum().backward(inputs=weights)


class WarmStarts:
    """The last z of every training task; in the compositional form, one per slot treated as unknown.

    Args:
        share: The share of tasks that start at their last z.
        slots: Slots of a compositional task, else 0.
        table: The last z of each, `[tasks · max(slots, 1), S]`, zero before the first visit.
    """

    def __init__(self, share: float, slots: int, table: Tensor) -> None:
        self._share, self._slots, self.table = share, max(slots, 1), table

    def begin(self, batch: Batch, generator: torch.Generator) -> Batch:
        """Set the start of each task's search: its last z in a random share of the tasks, else 0."""
        chance = torch.rand(batch.tasks, generator=generator, device=batch.device)
        warm = (chance < self._share).unsqueeze(1)
        return replace(batch, start=self.table[self._rows(batch)].masked_fill(~warm, 0.0))

    def keep(self, batch: Batch, z: Tensor) -> None:
        """Store the z where the searches of a batch ended, `[B, S]`."""
        self.table[self._rows(batch)] = z

    def _rows(self, batch: Batch) -> Tensor:
        assert batch.task is not None
        return batch.task if batch.unknown is None else batch.task * self._slots + batch.unknown
