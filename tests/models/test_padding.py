"""Batches without any token, or without rows; `test_model` has padding and rows of other lengths."""

from dataclasses import replace

import pytest
import torch

from tam.models import ModelSpec
from tests.models.conftest import make_batch, make_model, make_z


@pytest.mark.parametrize(("x", "y"), [(0, 0), (0, 2), (3, 0)])
def test_tensors_without_any_token(x: int, y: int, spec: ModelSpec) -> None:
    """A tensor of width 0 is the same as a wider one in which every length is 0."""
    model = make_model(spec)
    batch = make_batch(spec, x=x, y=y)
    z = make_z(model, batch)
    narrow = model(z, batch)
    wide = replace(batch, x=torch.nn.functional.pad(batch.x, (0, 1), value=-3))
    if batch.y_length is not None:
        wide = replace(wide, y=torch.nn.functional.pad(batch.y, (0, 1), value=10**6))
    padded = model(z, wide)
    torch.testing.assert_close(padded[..., : narrow.shape[-1]], narrow)
    assert padded[..., narrow.shape[-1] :].eq(0).all()
    narrow.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_a_model_for_empty_inputs() -> None:
    spec = ModelSpec(kind="transduction", vocabulary=7, max_x=0, max_y=3, width=8, heads=2)
    model, batch = make_model(spec), make_batch(spec)
    assert model(model.blank(batch.tasks).unsqueeze(1), batch).isfinite().all()


def test_a_batch_without_rows(spec: ModelSpec) -> None:
    model, batch = make_model(spec), make_batch(spec, 3, 0)
    assert model(make_z(model, batch), batch).shape[:2] == (3, 0)
