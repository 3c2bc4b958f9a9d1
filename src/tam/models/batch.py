"""A batch: examples of several tasks, folded into tensors of fixed shapes.

Shapes: B tasks, N rows (examples) of each, X and Y the padded widths of x and y, K slots.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

_ROWS = ("x", "x_length", "y", "y_length", "present")


@dataclass(frozen=True, eq=False)
class Batch:
    """N examples of each of B tasks. Padding may hold any number; it is never looked at.

    Attributes:
        x: Input ids, `[B, N, X]`, int64. X may be 0.
        x_length: Length of each input, `[B, N]`.
        y: Answers, int64: class ids `[B, N]`, or token ids `[B, N, Y]` without end token. Y may be 0.
        y_length: Length of each answer, `[B, N]`; None for classification.
        present: Which rows are examples, `[B, N]`; None if all are. The others may hold anything.
        classes: Number of classes of each task, `[B]`; None if all tasks have all classes.
        task: Index of each training task, `[B]`.
        primitives: Ids of the primitives that compose each task, `[B, K]`.
        chance: Uniform random numbers for a method's own draws about each task, `[B, …]`.
        unknown: The slot that plays unknown in each task, `[B]`, in 0…K−1. Its id in `primitives` is
            never looked at.
        start: Where the search for each task's embedding starts, `[B, S]`; None: at 0.
        prefix: What a model computed for x, `[B, N, …]` each; see `Model.with_prefix`.
        support: Other examples of the same tasks, for a model that looks at those when it answers.
        padded: Whether there is padding in x or y; may be true if there is none.
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
    prefix: tuple[Tensor, ...] = ()
    support: "Batch | None" = None
    padded: bool = True

    def __post_init__(self) -> None:
        if self.x.dim() != 3 or self.x.dtype != torch.int64:
            raise ValueError(
                f"x is an int64 tensor [B, N, X], not {self.x.dtype} of shape {list(self.x.shape)}"
            )
        if self.y.dtype != torch.int64:
            raise ValueError(f"y is an int64 tensor, not {self.y.dtype}")
        if self.y.dim() != (2 if self.y_length is None else 3):
            raise ValueError(
                "y is [B, N] without y_length (classification), or [B, N, Y] with it (transduction); given: "
                f"y of shape {list(self.y.shape)} {'without' if self.y_length is None else 'with'} y_length"
            )
        if self.unknown is not None and self.primitives is None:
            raise ValueError("unknown marks one of the primitives; give primitives too")
        self._check_shapes()

    def _check_shapes(self) -> None:
        names = (*_ROWS, "classes", "task", "primitives", "unknown", "chance", "start")
        tensors: list[tuple[str, Tensor | None]] = [(name, getattr(self, name)) for name in names]
        for name, tensor in (*tensors, *(("prefix", part) for part in self.prefix)):
            expected = self.x.shape[:2] if name in (*_ROWS, "prefix") else self.x.shape[:1]
            if tensor is not None and tensor.shape[: len(expected)] != expected:
                raise ValueError(
                    f"{name} belongs to {list(expected)} (x is {list(self.x.shape)}), "
                    f"but has the shape {list(tensor.shape)}"
                )
        if self.support is not None and self.support.tasks != self.tasks:
            raise ValueError(f"a support of {self.support.tasks} tasks does not fit {self.tasks} tasks")

    @property
    def tasks(self) -> int:
        """Number of tasks B."""
        return self.x.shape[0]

    @property
    def rows(self) -> int:
        """Number of examples N of each task."""
        return self.x.shape[1]

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.x.device

    def part(self, tasks: slice | Tensor) -> "Batch":
        """The same for some of the tasks: a range of them, or those of these numbers."""
        return self._each(lambda tensor: tensor[tasks])

    def repeat(self, times: int) -> "Batch":
        """The same with all tasks so many times, one after another."""
        return self._each(lambda tensor: tensor.repeat(times, *(1,) * (tensor.dim() - 1)))

    def cut(self, rows: slice) -> "Batch":
        """The same for some of each task's rows."""
        return self._each_row(lambda tensor: tensor[:, rows])

    def take(self, rows: Tensor) -> "Batch":
        """The same with the rows of these numbers, `[B, M]`, of each task."""
        task = torch.arange(self.tasks, device=self.device).unsqueeze(1)
        return self._each_row(lambda tensor: tensor[task, rows])

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "Batch":
        """The same batch on another device."""
        return self._each(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def _each_row(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        tensors: dict[str, Tensor | None] = {name: getattr(self, name) for name in _ROWS}
        changed: dict[str, Any] = {n: None if t is None else change(t) for n, t in tensors.items()}
        return replace(self, **changed, prefix=tuple(change(tensor) for tensor in self.prefix))

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        changed: dict[str, Any] = {}
        for field in fields(self):
            value: Tensor | tuple[Tensor, ...] | Batch | bool | None = getattr(self, field.name)
            if isinstance(value, Batch):
                value = value._each(change)
            elif isinstance(value, Tensor):
                value = change(value)
            elif isinstance(value, tuple):
                value = tuple(change(tensor) for tensor in value)
            changed[field.name] = value
        return Batch(**changed)
