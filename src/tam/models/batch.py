"""A batch: examples of several tasks, folded into tensors of fixed shapes.

Shapes: B tasks, N rows (examples) of each, X and Y the padded widths of x and y, K slots.
"""

from dataclasses import dataclass, fields, replace

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
        for name in (*_ROWS, "classes", "task", "primitives", "unknown", "chance"):
            tensor: Tensor | None = getattr(self, name)
            expected = self.x.shape[:2] if name in _ROWS else self.x.shape[:1]
            if tensor is not None and tensor.shape[: len(expected)] != expected:
                raise ValueError(
                    f"{name} belongs to {list(expected)} (x is {list(self.x.shape)}), "
                    f"but has the shape {list(tensor.shape)}"
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
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.x.device

    def part(self, tasks: slice) -> "Batch":
        """The same for some of the tasks."""
        return Batch(*(None if tensor is None else tensor[tasks] for tensor in self._tensors()))  # pyright: ignore[reportArgumentType]

    def cut(self, rows: slice) -> "Batch":
        """The same for some of each task's rows."""
        tensors = {name: getattr(self, name) for name in _ROWS}
        return replace(self, **{n: None if t is None else t[:, rows] for n, t in tensors.items()})

    def _tensors(self) -> list[Tensor | None]:
        return [getattr(self, field.name) for field in fields(self)]

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "Batch":
        """The same batch on another device."""
        moved = (None if t is None else t.to(device, non_blocking=non_blocking) for t in self._tensors())
        return Batch(*moved)  # pyright: ignore[reportArgumentType]
