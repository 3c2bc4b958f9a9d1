from dataclasses import fields, replace
from typing import Any

import pytest
import torch

from tam.models import Batch, ModelSpec
from tests.models.conftest import make_batch

X = torch.zeros(2, 3, 5, dtype=torch.int64)
LENGTH = torch.zeros(2, 3, dtype=torch.int64)


def test_sizes() -> None:
    batch = Batch(X, LENGTH, LENGTH)
    assert (batch.tasks, batch.rows, batch.device) == (2, 3, torch.device("cpu"))


def test_to_moves_every_tensor(spec: ModelSpec) -> None:
    batch = make_batch(spec)
    moved = batch.to("meta")
    for field in fields(batch):
        before, after = getattr(batch, field.name), getattr(moved, field.name)
        assert (before is None) == (after is None)
        if isinstance(after, torch.Tensor):
            assert after.is_meta
            assert after.shape == before.shape


def test_cached_x_goes_with_the_rows() -> None:
    rows = torch.arange(6).view(2, 3, 1)
    batch = Batch(rows, LENGTH, LENGTH, x_cache=(rows, 2.0 * rows))
    parts = batch.part(slice(1, 2)), batch.cut(slice(1, 3)), batch.take(torch.tensor([[2], [0]]))
    for part in parts:
        assert torch.equal(part.x_cache[0], part.x)
        assert torch.equal(part.x_cache[1], 2.0 * part.x)
    assert all(tensor.is_meta for tensor in batch.to("meta").x_cache)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"x": X[0]}, r"x is an int64 tensor \[B, N, X\]"),
        ({"x": X.float()}, "not torch.float32"),
        ({"y": LENGTH.float()}, "y is an int64 tensor"),
        ({"y": X}, "without y_length"),
        ({"y_length": LENGTH}, "with y_length"),
        ({"x_length": LENGTH[:, :2]}, r"x_length belongs to \[2, 3\]"),
        ({"y": LENGTH[:1]}, r"y belongs to \[2, 3\]"),
        ({"classes": torch.zeros(3)}, r"classes belongs to \[2\]"),
        ({"unknown": torch.zeros(2)}, "give primitives too"),
        ({"x_cache": (X, X[:1])}, r"x_cache belongs to \[2, 3\]"),
    ],
)
def test_wrong_batches_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Batch(X, LENGTH, LENGTH), **wrong)
