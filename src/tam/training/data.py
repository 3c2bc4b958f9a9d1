"""Training tasks as tensors on the device, from which batches are drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tam.models import Batch
from tam.models.batch import collate
from tam.models.layers import within
from tam.tasks.task import Classes, Sequences, Task
from tam.training.masking import TokenMasking


class TrainingData:
    """All examples of the training tasks, without padding; draws batches of B tasks with N rows each."""

    def __init__(
        self,
        tasks: Sequence[Task],
        device: torch.device | str,
        primitives: Mapping[str, int] | None = None,
        masking: TokenMasking | None = None,
    ) -> None:
        self._masking = masking
        self._tasks = collate(tasks, [np.arange(0)] * len(tasks), primitives).to(device)  # without rows
        counts = np.array([len(task) for task in tasks])
        self._most, self._same_size = int(counts.max()), bool((counts == counts[0]).all())
        self._counts = torch.tensor(counts, device=device)
        self._first = self._counts.cumsum(0) - self._counts  # the first row of each task
        self._x = _Ragged([task.x for task in tasks], device)
        self._y = _Ragged([task.y for task in tasks if isinstance(task.y, Sequences)], device)
        classes = [task.y.ids.astype(np.int64) for task in tasks if isinstance(task.y, Classes)]
        self._classes = torch.tensor(np.concatenate(classes), device=device) if classes else None

    @property
    def tasks(self) -> int:
        """The number of training tasks."""
        return len(self._counts)

    def draw(self, tasks: int, rows: int, generator: torch.Generator) -> Batch:
        """Draw distinct tasks, and distinct examples of each, in random order.

        On a CPU, x and y are as wide as the longest of this batch, which saves time. On a GPU, where steps
        are recorded with fixed shapes and kernels skip padding, they are as wide as the longest of all tasks.
        """
        device = self._counts.device
        order = torch.rand(self.tasks, generator=generator, device=device).argsort()
        chosen = order[: min(tasks, self.tasks)]
        counts = self._counts[chosen].unsqueeze(1)
        scores = torch.rand(len(chosen), self._most, generator=generator, device=device)
        scores = scores + (torch.arange(self._most, device=device) >= counts)  # absent examples come last
        picked = scores.argsort(dim=1)[:, :rows]
        chance = torch.rand(len(chosen), 2, generator=generator, device=device)
        unknown = None
        if self._tasks.primitives is not None:  # Algorithm 2: treat one primitive as unknown
            slots = self._tasks.primitives.shape[1]
            unknown = torch.randint(slots, (len(chosen),), generator=generator, device=device)
        batch = self._with_rows(self._tasks.part(chosen), self._first[chosen].unsqueeze(1), picked, counts)
        if device.type == "cpu":
            batch = batch.trimmed()
        if self._masking is not None:
            batch = self._masking(batch, generator)
        return replace(batch, task=chosen, unknown=unknown, chance=chance)

    def _with_rows(self, tasks: Batch, first: Tensor, picked: Tensor, counts: Tensor) -> Batch:
        """Add the picked rows to the batch of tasks; rows that a task does not have are empty."""
        exists = picked < counts
        rows = (first + picked).masked_fill(~exists, 0)
        x, x_length = self._x.take(rows, exists)
        if self._classes is None:
            y, y_length = self._y.take(rows, exists)
            answers: dict[str, Any] = {"y": y, "y_length": y_length}
        else:
            answers = {"y": self._classes[rows].masked_fill(~exists, 0)}
        present = None if self._same_size else exists
        padded = not (self._same_size and self._x.even and self._y.even)
        return replace(tasks, x=x, x_length=x_length, present=present, padded=padded, **answers)


class _Ragged:
    """Sequences of various lengths, concatenated."""

    def __init__(self, parts: Sequence[Sequences], device: torch.device | str) -> None:
        flat = np.concatenate([part.flat for part in parts] or [np.zeros(0)]).astype(np.int64)
        lengths = np.concatenate([part.lengths for part in parts] or [np.zeros(0)]).astype(np.int64)
        self._width = int(lengths.max(initial=0))
        self.even = bool((lengths == self._width).all())
        self._flat = torch.tensor(np.append(flat, 0), device=device)  # the last entry is padding
        self._lengths = torch.tensor(lengths, device=device)
        self._first = self._lengths.cumsum(0) - self._lengths

    def take(self, rows: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
        """The sequences with these numbers, padded, and their lengths; empty where they do not exist."""
        length = self._lengths[rows].masked_fill(~exists, 0)
        places = self._first[rows].unsqueeze(-1) + torch.arange(self._width, device=rows.device)
        places = places.masked_fill(~within(length, self._width), len(self._flat) - 1)
        return self._flat[places], length
