"""Score rows in groups of similar length: on a CPU, padding takes as much time as tokens.

Shapes: B tasks, N rows of each, M copies of z (1 or N), S components of z, Q parts of an answer.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from tam.models.batch import Batch

_MOST_GROUPS = 8
_FEWEST_ROWS = 64  # of a group, over all tasks: with fewer, extra calls cost more than padding
_WORTH = 0.8  # largest share of the places that may remain for grouping to pay

Score = Callable[[Tensor | None, Batch], Tensor]


class Groups(NamedTuple):
    """The rows of each task from short to long, `[B, N]`, and the range of each group in this order."""

    order: Tensor
    ranges: list[slice]


def length_groups(batch: Batch) -> Groups | None:
    """Group a batch's rows by length; None if that would not pay."""
    count = min(_MOST_GROUPS, batch.tasks * batch.rows // _FEWEST_ROWS, batch.rows)
    differentiated = any(part.requires_grad for part in batch.x_cache)  # slow in the backward pass
    if batch.device.type != "cpu" or not batch.padded or count < 2 or differentiated:
        return None
    sizes = torch.stack([batch.x_length, torch.zeros_like(batch.x_length)])
    if batch.y_length is not None:
        sizes[1] = batch.y_length
    order = sizes.sum(0).argsort(dim=1)
    ordered = sizes.gather(2, order.expand_as(sizes))  # [2, B, N]
    bounds = [round(batch.rows * part / count) for part in range(count + 1)]
    ranges = [slice(*pair) for pair in pairwise(bounds)]
    left = sum((one.stop - one.start) * int(ordered[:, :, one].amax((1, 2)).sum()) for one in ranges)
    return Groups(order, ranges) if left <= _WORTH * batch.rows * int(sizes.amax((1, 2)).sum()) else None


def score_by_length(score: Score, z: Tensor | None, batch: Batch, groups: Groups) -> Tensor:
    """Compute `score(z, batch)`, `[B, N, Q]`, with one call per group."""
    ordered = batch.take(groups.order)
    if z is not None and z.shape[1] > 1:
        z = z.gather(1, groups.order.unsqueeze(2).expand_as(z))
    parts = list[Tensor]()
    for rows in groups.ranges:
        own = z if z is None or z.shape[1] == 1 else z[:, rows]
        parts.append(score(own, ordered.cut(rows).trimmed()))
    width = 1 if batch.y_length is None else batch.y.shape[-1] + 1
    together = torch.cat([F.pad(part, (0, width - part.shape[-1])) for part in parts], dim=1)
    back = groups.order.argsort(dim=1).unsqueeze(2)
    return together.gather(1, back.expand_as(together))
