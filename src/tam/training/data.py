"""Training tasks as tensors on the device, and the draw of a batch from them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch

from tam.models import Batch
from tam.models.batch import collate
from tam.tasks.task import Task
from tam.training.masking import TokenMasking


class TrainingData:
    """All examples of the training tasks, and the draw of B tasks with N examples each."""

    def __init__(
        self,
        tasks: Sequence[Task],
        device: torch.device | str,
        primitives: Mapping[str, int] | None = None,
        masking: TokenMasking | None = None,
    ) -> None:
        self._masking = masking
        everything = collate(tasks, [np.arange(len(task)) for task in tasks], primitives)
        self._all = everything.to(device)
        counts = torch.tensor([len(task) for task in tasks], device=device)
        self._missing = torch.arange(everything.rows, device=device) >= counts.unsqueeze(1)

    @property
    def tasks(self) -> int:
        """The number of training tasks."""
        return self._all.tasks

    def draw(self, tasks: int, rows: int, generator: torch.Generator) -> Batch:
        """Different tasks, and different examples of each, in random order.

        On a CPU, x and y are as wide as the longest of this batch, which saves time. On a GPU, where steps
        are recorded with fixed shapes and kernels skip padding, they are as wide as those of all tasks.
        """
        device = self._all.device
        order = torch.rand(self.tasks, generator=generator, device=device).argsort()
        chosen = order[: min(tasks, self.tasks)]
        scores = torch.rand(len(chosen), self._all.rows, generator=generator, device=device)
        scores = scores + self._missing[chosen]  # absent examples come last
        picked = scores.argsort(dim=1)[:, :rows]
        chance = torch.rand(len(chosen), 2, generator=generator, device=device)
        unknown = None
        if self._all.primitives is not None:  # Algorithm 2: pretend that one primitive is unknown
            slots = self._all.primitives.shape[1]
            unknown = torch.randint(slots, (len(chosen),), generator=generator, device=device)
        batch = self._all.part(chosen).take(picked)
        if device.type == "cpu":
            batch = batch.trimmed()
        if self._masking is not None:
            batch = self._masking(batch, generator)
        return replace(batch, task=chosen, unknown=unknown, chance=chance)
