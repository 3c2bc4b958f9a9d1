"""Warm starts: an extension of Algorithm 1 in which some tasks continue from their last search's z.

In the paper every search for z starts at 0. With warm starts, in a random share of an outer step's tasks it
starts at the task's last z. θ then also learns from embeddings that are nearly right, as in alternating
minimisation, while the other tasks keep teaching it to be searched from 0.

Shapes: B tasks, S components of a task embedding.
"""

from dataclasses import replace

import torch
from torch import Tensor

from tam.models import Batch


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
