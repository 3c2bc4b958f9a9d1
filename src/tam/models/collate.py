"""From tasks to tensors: chosen examples of several tasks as one batch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tam.models.batch import Batch
from tam.tasks.composition import unknown_slot
from tam.tasks.task import Classes, Integers, Sequences, Task


def collate(
    tasks: Sequence[Task], rows: Sequence[Integers], primitives: Mapping[str, int] | None = None
) -> Batch:
    """Put the examples `rows[i]` of each `tasks[i]` into one batch.

    Args:
        tasks: Tasks of one kind; a task may occur several times.
        rows: Which of its examples, for each task; where their numbers differ, `present` tells.
        primitives: The ids of the primitives that the model knows, for a compositional model. The one
            primitive of a task that has no id is its unknown slot.
    """
    counts = np.array([len(chosen) for chosen in rows])
    present = np.arange(counts.max(initial=0)) < counts[:, None]
    x, x_length = _pad([task.x for task in tasks], rows, present)
    if all(isinstance(task.y, Sequences) for task in tasks):
        y, y_length = _pad([task.y for task in tasks if isinstance(task.y, Sequences)], rows, present)
        return Batch(
            x,
            x_length,
            y,
            y_length,
            present=_unless_all(present),
            padded=_is_padded(x, x_length) or _is_padded(y, y_length),
            **_compositional(tasks, primitives),
        )
    answers = [task.y for task in tasks if isinstance(task.y, Classes)]
    y = np.zeros(present.shape, dtype=np.int64)
    for place, (answer, chosen) in enumerate(zip(answers, rows, strict=True)):
        y[place, : len(chosen)] = answer.ids[chosen]
    classes = torch.tensor([len(answer.labels) for answer in answers])
    return Batch(
        x,
        x_length,
        torch.from_numpy(y),
        present=_unless_all(present),
        classes=classes,
        padded=_is_padded(x, x_length),
        **_compositional(tasks, primitives),
    )


def _is_padded(ids: Tensor, lengths: Tensor) -> bool:
    return bool((lengths < ids.shape[-1]).any())


def _unless_all(present: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Tensor | None:
    return None if present.all() else torch.from_numpy(present)


def _pad(
    parts: Sequence[Sequences],
    rows: Sequence[Integers],
    present: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> tuple[Tensor, Tensor]:
    width = max((part.ids.shape[1] for part in parts), default=0)
    ids = np.zeros((*present.shape, width), dtype=np.int64)
    lengths = np.zeros(present.shape, dtype=np.int64)
    for place, (part, chosen) in enumerate(zip(parts, rows, strict=True)):
        ids[place, : len(chosen), : part.ids.shape[1]] = part.ids[chosen]
        lengths[place, : len(chosen)] = part.lengths[chosen]
    return torch.from_numpy(ids), torch.from_numpy(lengths)


def _compositional(tasks: Sequence[Task], primitives: Mapping[str, int] | None) -> dict[str, Any]:
    if primitives is None:
        return {}
    ids = torch.tensor([[primitives.get(name, -1) for name in task.primitives] for task in tasks])
    if (ids >= 0).all():
        return {"primitives": ids}
    unknown = [unknown_slot(f"task {task.name!r}", task.primitives, primitives) for task in tasks]
    return {"primitives": ids.clamp(min=0), "unknown": torch.tensor(unknown)}
