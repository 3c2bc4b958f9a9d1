"""Mask training tokens as unknown, so that the model learns to read, and to copy, tokens it never saw.

A token that occurs c times is masked in a task with probability α / (α + c), in all rows of the task: rare
tokens often, common ones hardly ever. α is chosen so that the requested share of all tokens is masked.

Shapes: B tasks, N rows per task, X and Y the widths of x and y, L either of them, V token ids.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tam.models import Batch, ModelSpec
from tam.models.layers import within
from tam.tasks.task import Sequences, Task


class TokenMasking:
    """Masks tokens in batches of training tasks, which use the token ids of a model with this spec."""

    def __init__(self, tasks: Sequence[Task], spec: ModelSpec, share: float, device: torch.device | str):
        parts = [part for task in tasks for part in (task.x, task.y) if isinstance(part, Sequences)]
        counts = np.bincount(np.concatenate([part.flat for part in parts]), minlength=spec.vocabulary)
        self.spec = spec
        self.chances = torch.tensor(chances(counts, share), dtype=torch.float32, device=device)  # [V]
        self.chances[spec.named :] = 0.0  # not tokens of the user's

    def __call__(self, batch: Batch, generator: torch.Generator) -> Batch:
        """Mask some tokens of the batch; all shapes are fixed."""
        drawn = torch.rand(batch.tasks, self.spec.vocabulary, generator=generator, device=batch.device)
        masked = drawn < self.chances  # [B, V]
        x_masked = _of_tokens(masked, batch.x, batch.x_length)
        x = batch.x.masked_fill(x_masked, self.spec.vocabulary - 1)
        if batch.y_length is None:
            return replace(batch, x=x)
        y_masked = _of_tokens(masked, batch.y, batch.y_length)
        y = batch.y.masked_fill(y_masked, self.spec.vocabulary - 1)
        if self.spec.copies and batch.x.shape[-1]:
            in_x = within(batch.x_length, batch.x.shape[-1])
            x_first, _ = _first_places(batch.x, batch.x, in_x)
            y_first, found = _first_places(batch.y, batch.x, in_x)
            x = torch.where(x_masked, self.spec.vocabulary + x_first, x)
            y = torch.where(y_masked & found, self.spec.vocabulary + y_first, y)
        return replace(batch, x=x, y=y)


def chances(counts: "np.ndarray[tuple[int], np.dtype[np.int64]]", share: float) -> list[float]:
    """Each token's probability of being masked, given its count, so that on average a `share` of all is."""
    low, high = 0.0, float(counts.max(initial=1)) / (1 - share)
    for _ in range(60):
        middle = (low + high) / 2
        masked = (counts * middle / (middle + counts.clip(1))).sum() / max(counts.sum(), 1)
        low, high = (middle, high) if masked < share else (low, middle)
    return (low / (low + counts.clip(1))).tolist()


def _of_tokens(masked: Tensor, ids: Tensor, length: Tensor) -> Tensor:
    """Mark the places that hold a masked token, `[B, N, L]`, given the masked ids, `[B, V]`."""
    inside = within(length, ids.shape[-1])
    of_id = masked.gather(1, ids.masked_fill(~inside, 0).flatten(1)).view(ids.shape)
    return of_id & inside


def _first_places(ids: Tensor, x: Tensor, in_x: Tensor) -> tuple[Tensor, Tensor]:
    """The first place in x of each id, `[B, N, L]`, and whether there is one."""
    same = (ids.unsqueeze(-1) == x.unsqueeze(-2)) & in_x.unsqueeze(-2)  # [B, N, L, X]
    return same.int().argmax(-1), same.any(-1)
