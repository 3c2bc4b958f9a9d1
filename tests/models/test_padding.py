"""Padding changes nothing, tasks in one batch do not touch each other, and rows do not either."""

from dataclasses import replace

import pytest
import torch

from tam.models import Batch, ModelSpec
from tests.models.conftest import make_batch, make_model, make_z


def one_row(batch: Batch, task: int, row: int) -> Batch:
    """A batch of one example, without any padding."""
    at = (slice(task, task + 1), slice(row, row + 1))
    x_length, y, y_length = batch.x_length[at], batch.y[at], batch.y_length
    if y_length is not None:
        y_length = y_length[at]
        y = y[..., : int(y_length)]
    return Batch(
        x=batch.x[at][..., : int(x_length)],
        x_length=x_length,
        y=y,
        y_length=y_length,
        primitives=None if batch.primitives is None else batch.primitives[at[0]],
        unknown=None if batch.unknown is None else batch.unknown[at[0]],
    )


@pytest.mark.parametrize("seed", range(2))
def test_each_row_is_as_if_it_were_alone(spec: ModelSpec, seed: int) -> None:
    model, batch = make_model(spec, seed), make_batch(spec, 3, 6, seed=seed)
    z = make_z(model, batch)
    together = model(z, batch)
    assert together.isfinite().all()
    for task in range(batch.tasks):
        for row in range(batch.rows):
            lone = one_row(batch, task, row)
            alone = model(None if z is None else z[task : task + 1], lone)[0, 0]
            torch.testing.assert_close(together[task, row, : len(alone)], alone)


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
