"""A batch: examples of several tasks, padded into tensors of fixed shapes.

Shapes: B tasks, N rows (examples) of each, X and Y the padded widths of x and y, K slots.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tam.models.layers import within
from tam.tasks.composition import unknown_slot
from tam.tasks.task import Classes, Integers, Sequences, Task

_ROWS = ("x", "x_length", "y", "y_length", "present")


@dataclass(frozen=True, eq=False)
class Batch:
    """N examples of each of B tasks. Padding may hold any number; it is never read.

    Attributes:
        x: Input ids, `[B, N, X]`, int64. X may be 0.
        x_length: Length of each input, `[B, N]`.
        y: Answers, int64: class ids `[B, N]`, or token ids `[B, N, Y]` without end token. Y may be 0.
        y_length: Length of each answer, `[B, N]`; None for classification.
        present: Which rows are examples, `[B, N]`; None if all are. Other rows may hold anything.
        classes: Number of classes of each task, `[B]`; None if all tasks have all classes.
        task: Index of each training task, `[B]`.
        primitives: Ids of the primitives that compose each task, `[B, K]`.
        chance: Uniform random numbers from which a method makes its own draws for each task, `[B, …]`.
        unknown: The slot treated as unknown in each task, `[B]`, in 0…K−1. Its id in `primitives` is
            never read.
        start: Initial task embeddings of the search, `[B, S]`; None for 0.
        x_cache: What a model computed for x alone, `[B, N, …, X, ·]` each; see `Model.with_x_cache`.
        support: Other examples of the same tasks, for a model that reads them when it answers.
        padded: False only if x and y have no padding.
    """

    x: Tensor
    x_length: Tensor
    y: Tensor
    y_length: Tensor | None = None
    present: Tensor | None = None
    classes: Tensor | None = None
    task: Tensor | None = None
    primitives: Tensor | None = None
    unknown: Tensor | None = None
    chance: Tensor | None = None
    start: Tensor | None = None
    x_cache: tuple[Tensor, ...] = ()
    support: "Batch | None" = None
    padded: bool = True

    def __post_init__(self) -> None:
        if self.x.dim() != 3 or self.x.dtype != torch.int64:
            raise ValueError(f"x must be int64 [B, N, X]: got {self.x.dtype} {list(self.x.shape)}")
        if self.y.dtype != torch.int64 or self.y.dim() != (2 if self.y_length is None else 3):
            expected = "[B, N] without y_length" if self.y_length is None else "[B, N, Y] with y_length"
            raise ValueError(f"y must be int64 {expected}: got {self.y.dtype} {list(self.y.shape)}")
        if self.unknown is not None and self.primitives is None:
            raise ValueError("unknown marks one of the primitives: primitives must not be None")
        if self.support is not None and self.support.tasks != self.tasks:
            raise ValueError(f"support must be of {self.tasks} tasks: got {self.support.tasks}")
        for field in fields(self):
            value: object = getattr(self, field.name)
            expected = self.x.shape[: 2 if field.name in (*_ROWS, "x_cache") else 1]
            for tensor in value if isinstance(value, tuple) else (value,):
                if isinstance(tensor, Tensor) and tensor.shape[: len(expected)] != expected:
                    raise ValueError(
                        f"{field.name} must start with {list(expected)}, as x: got {list(tensor.shape)}"
                    )

    @property
    def tasks(self) -> int:
        """Number of tasks B."""
        return self.x.shape[0]

    @property
    def rows(self) -> int:
        """Number of examples N of each task."""
        return self.x.shape[1]

    @property
    def places(self) -> int:
        """Places of a row's sequence, one of them for the task: 1 + X + Y."""
        return 1 + self.x.shape[-1] + (0 if self.y_length is None else self.y.shape[-1])

    @property
    def in_x(self) -> Tensor:
        """Mask of the places of x that hold a token, `[B, N, X]`."""
        return within(self.x_length, self.x.shape[-1])

    @property
    def in_y(self) -> Tensor:
        """Mask of the places of y that hold a token, `[B, N, Y]`; transduction only."""
        assert self.y_length is not None
        return within(self.y_length, self.y.shape[-1])

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self.x.device

    def part(self, tasks: slice | Tensor) -> "Batch":
        """Select tasks by a slice or by indices."""
        return self._each(lambda tensor: tensor[tasks])

    def repeat(self, times: int) -> "Batch":
        """Repeat all tasks, one copy after another."""
        return self._each(lambda tensor: tensor.repeat(times, *(1,) * (tensor.dim() - 1)))

    def cut(self, rows: slice) -> "Batch":
        """Select a slice of each task's rows."""
        return self._each_row(lambda tensor: tensor[:, rows])

    def take(self, rows: Tensor) -> "Batch":
        """Select rows of each task by indices `[B, M]`."""
        task = torch.arange(self.tasks, device=self.device).unsqueeze(1)
        return self._each_row(lambda tensor: tensor[task, rows])

    def trimmed(self) -> "Batch":
        """Cut off the places of x and y that are padding in every row.

        This reads the lengths, so the host waits for the GPU, and shapes then differ from batch to batch:
        steps that are recorded as CUDA graphs use batches of full width.
        """
        x = self.x[..., : int(self.x_length.max()) if self.x_length.numel() else 0]
        y, padded = self.y, _is_padded(x, self.x_length)
        if self.y_length is not None:
            y = y[..., : int(self.y_length.max()) if self.y_length.numel() else 0]
            padded = padded or _is_padded(y, self.y_length)
        cache = tuple(part[..., : x.shape[-1], :] for part in self.x_cache)
        return replace(self, x=x, y=y, padded=padded, x_cache=cache)

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "Batch":
        """Copy the batch to another device."""
        return self._each(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def _each_row(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        names = (*_ROWS, "x_cache")
        return replace(self, **{name: self._changed(getattr(self, name), change) for name in names})

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        return Batch(**{one.name: self._changed(getattr(self, one.name), change) for one in fields(self)})

    @staticmethod
    def _changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
        """Apply `change` to the tensors of a field."""
        if isinstance(value, Tensor):
            return change(value)
        if isinstance(value, tuple):
            return tuple(change(tensor) for tensor in value)
        return value._each(change) if isinstance(value, Batch) else value


def token_targets(batch: Batch, end: int) -> tuple[Tensor, Tensor]:
    """The tokens of y followed by the end token, and the mask of scored places: `[B, N, Y + 1]` each."""
    assert batch.y_length is not None
    width = batch.y.shape[-1]
    # Places after the end token are not scored, so they may hold the end token too.
    target = F.pad(batch.y, (0, 1)).masked_fill(~within(batch.y_length, width + 1), end)
    return target, within(batch.y_length + 1, width + 1)


def target_log_prob(outcomes: Tensor, batch: Batch) -> Tensor:
    """Select the log-probabilities of y and its end token: `[B, N, Y + 1]`, 0 in the padding."""
    target, scored = token_targets(batch, end=outcomes.shape[-1] - 1)
    return outcomes.gather(-1, target.unsqueeze(-1)).squeeze(-1).masked_fill(~scored, 0.0)


def collate(
    tasks: Sequence[Task], rows: Sequence[Integers], primitives: Mapping[str, int] | None = None
) -> Batch:
    """Put the examples `rows[i]` of each `tasks[i]` into one batch.

    Args:
        tasks: Tasks of one kind; a task may occur several times.
        rows: Indices of the examples of each task; if tasks have different numbers of them, `present` marks
            the rows that are examples.
        primitives: For a compositional model, the ids of the primitives that it knows. The one primitive of
            a task without an id is its unknown slot.
    """
    counts = np.array([len(chosen) for chosen in rows])
    present = np.arange(counts.max(initial=0)) < counts[:, None]
    x, x_length = _pad([task.x for task in tasks], rows, present)
    padded, answers = _is_padded(x, x_length), [task.y for task in tasks]
    if all(isinstance(answer, Sequences) for answer in answers):
        y, y_length = _pad([answer for answer in answers if isinstance(answer, Sequences)], rows, present)
        padded = padded or _is_padded(y, y_length)
        given: dict[str, Any] = {"y": y, "y_length": y_length}
    else:
        classes = [answer for answer in answers if isinstance(answer, Classes)]
        ids = np.zeros(present.shape, dtype=np.int64)
        for place, (answer, chosen) in enumerate(zip(classes, rows, strict=True)):
            ids[place, : len(chosen)] = answer.ids[chosen]
        sizes = torch.tensor([len(answer.labels) for answer in classes])
        given = {"y": torch.from_numpy(ids), "classes": sizes}
    there = None if present.all() else torch.from_numpy(present)
    names, composed = [f"task {task.name!r}" for task in tasks], [task.primitives for task in tasks]
    given |= _compositional(names, composed, primitives)
    return Batch(x, x_length, present=there, padded=padded, **given)


def collate_inputs(
    x: Sequences,
    classes: Sequence[int] | None,
    composed: Sequence[Sequence[str]],
    primitives: Mapping[str, int] | None,
) -> Batch:
    """Put inputs without answers into one batch, each as the only row of its own task.

    Args:
        x: The inputs.
        classes: The number of classes of each task; None for transduction, where answers are empty.
        composed: The primitives of each task.
        primitives: See `collate`.
    """
    ids = torch.from_numpy(x.ids.astype(np.int64)).unsqueeze(1)
    lengths = torch.from_numpy(x.lengths.astype(np.int64)).unsqueeze(1)
    nothing = torch.zeros_like(lengths)
    given: dict[str, Any] = {"y": nothing.new_zeros(len(x), 1, 0), "y_length": nothing}
    if classes is not None:
        given = {"y": nothing, "classes": torch.tensor(classes)}
    given |= _compositional([f"input {place}" for place in range(len(x))], composed, primitives)
    return Batch(ids, lengths, padded=_is_padded(ids, lengths), **given)


def _is_padded(ids: Tensor, lengths: Tensor) -> bool:
    return bool((lengths < ids.shape[-1]).any())


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


def _compositional(
    names: Sequence[str], composed: Sequence[Sequence[str]], primitives: Mapping[str, int] | None
) -> dict[str, Any]:
    """The primitives that compose each task, and its unknown slot; `names` are for error messages."""
    if primitives is None:
        return {}
    ids = torch.tensor([[primitives.get(one, -1) for one in each] for each in composed])
    if (ids >= 0).all():
        return {"primitives": ids}
    unknown = [unknown_slot(name, each, primitives) for name, each in zip(names, composed, strict=True)]
    return {"primitives": ids.clamp(min=0), "unknown": torch.tensor(unknown)}
