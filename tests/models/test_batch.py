from dataclasses import fields, replace
from typing import Any

import pytest
import torch

from tam.models import Batch, ModelSpec
from tests.models.conftest import make_batch

X = torch.zeros(2, 3, 5, dtype=torch.int64)
LENGTH = torch.zeros(2, 3, dtype=torch.int64)


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
    ("wrong", "about"),
    [
        ({"x": X[0]}, "x must"),
        ({"x": X.float()}, "x must"),
        ({"y": LENGTH.float()}, "y must"),
        ({"y": X}, "without y_length"),
        ({"y_length": LENGTH}, "with y_length"),
        ({"x_length": LENGTH[:, :2]}, "x_length"),
        ({"y": LENGTH[:1]}, "y must"),
        ({"classes": torch.zeros(3)}, "classes"),
        ({"unknown": torch.zeros(2)}, "primitives"),
        ({"x_cache": (X, X[:1])}, "x_cache"),
        ({"support": Batch(X[:1], LENGTH[:1], LENGTH[:1])}, "support"),
    ],
)
def test_wrong_batches_are_refused(wrong: dict[str, Any], about: str) -> None:
    with pytest.raises(ValueError, match=about):
        replace(Batch(X, LENGTH, LENGTH), **wrong)
