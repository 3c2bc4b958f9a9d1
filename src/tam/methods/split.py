"""Support and query: the examples that a training task is learned from, and those that it is then asked.

Shapes: B tasks, N rows of each.
"""

from dataclasses import replace

import torch

from tam.errors import SettingError
from tam.models import Batch


def split(batch: Batch, sizes: tuple[int, int]) -> tuple[Batch, Batch]:
    """The support and the query of every task: its first rows and the others. Rows are in random order.

    The size of a support is drawn from `sizes`, log-uniformly, for each task by itself. A task that has
    fewer rows than others gives its support half of them at most.
    """
    check_support(batch.rows, sizes)
    low, high = sizes
    if low == high and batch.present is None:
        return batch.cut(slice(high)), batch.cut(slice(high, None))
    assert batch.chance is not None
    size = (low * (high / low) ** batch.chance[:, :1]).round()
    place = torch.arange(batch.rows, device=batch.device)
    if batch.present is None:
        support = batch.cut(slice(high))
        return replace(support, present=place[:high] < size), batch.cut(slice(high, None))
    size = torch.minimum(size, batch.present.sum(1, keepdim=True) // 2)
    support = replace(batch, present=place < size).cut(slice(high))
    return support, replace(batch, present=batch.present & (place >= size))


def check_support(rows: int, sizes: tuple[int, int]) -> None:
    """Raise an error if so many rows of a task leave none to ask after a support of any of these sizes."""
    if sizes[1] >= rows:
        raise SettingError(
            f"support_sizes go up to {sizes[1]}, but a task has {rows} rows in a step: none are left to "
            "ask; give smaller support_sizes or more rows"
        )
