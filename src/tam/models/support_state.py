"""Pack a batch into one float tensor and back, for methods whose task state is the support itself.

Token ids are small integers, which float32 represents exactly. An example is stored as: whether it is
present, the length of x, x padded to max_x; then its class, or the length of y and y padded to max_y. Rows of
zeros are absent examples, so they can be appended.

Shapes: B tasks, N rows of each, W numbers per example.
"""

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from tam.errors import UserError
from tam.models.batch import Batch
from tam.models.spec import ModelSpec


def pack_support(batch: Batch, spec: ModelSpec) -> Tensor:
    """Pack the examples of each task into one row, `[B, N · W]`."""
    present = torch.ones_like(batch.x_length) if batch.present is None else batch.present
    if spec.copies:  # a token to copy is read as unknown
        most = spec.vocabulary - 1
        batch = replace(batch, x=batch.x.clamp(max=most), y=batch.y.clamp(max=most))
    columns = [present.unsqueeze(-1), batch.x_length.unsqueeze(-1), _widen(batch.x, spec.max_x)]
    if batch.y_length is None:
        columns.append(batch.y.unsqueeze(-1))
    else:
        columns += [batch.y_length.unsqueeze(-1), _widen(batch.y, spec.max_y)]
    rows = torch.cat([column.float() for column in columns], dim=-1)
    return (rows * present.unsqueeze(-1)).flatten(1)


def unpack_support(packed: Tensor, spec: ModelSpec) -> Batch:
    """The inverse of `pack`."""
    classify = spec.kind == "classification"
    width = 3 + spec.max_x + spec.max_y
    numbers = packed.unflatten(1, (-1, width)).long()
    present, x_length, x, first, rest = numbers.split([1, 1, spec.max_x, 1, spec.max_y], dim=-1)
    return Batch(
        x=x,
        x_length=x_length.squeeze(-1),
        y=first.squeeze(-1) if classify else rest,
        y_length=None if classify else first.squeeze(-1),
        present=present.squeeze(-1) > 0,
    )


def check_packed(numbers: NDArray[np.float32], spec: ModelSpec, labels: int) -> None:
    """Raise an error unless `pack` can have made these numbers from a task with this number of labels."""
    token, first = spec.vocabulary - 1, labels - 1 if spec.kind == "classification" else spec.max_y
    most = np.array([1, spec.max_x, *[token] * spec.max_x, first, *[token] * spec.max_y])
    if not len(numbers) or len(numbers) % len(most):
        raise UserError(f"the vector must have {len(most)} numbers per example: got {len(numbers)} numbers")
    rows = numbers.reshape(-1, len(most))
    if not ((rows >= 0) & (rows <= most) & (rows == np.floor(rows))).all() or not rows[:, 0].any():
        raise UserError("the vector must hold packed examples of this model: got other numbers")


def _widen(ids: Tensor, width: int) -> Tensor:
    if ids.shape[-1] > width:
        raise ValueError(f"sequences must have at most {width} tokens: got {ids.shape[-1]}")
    return F.pad(ids, (0, width - ids.shape[-1]))
