from dataclasses import replace
from typing import Any

import pytest
import torch

from tam.models import ModelSpec
from tests.models.conftest import make_batch, make_model, make_z


def test_log_probs_of_classes(encoder_spec: ModelSpec) -> None:
    model, batch = make_model(encoder_spec), make_batch(encoder_spec)
    log_prob = model(make_z(model, batch), batch)
    assert log_prob.shape == (batch.tasks, batch.rows, encoder_spec.classes)
    torch.testing.assert_close(log_prob.exp().sum(-1), torch.ones_like(log_prob[..., 0]))


def test_the_answer_is_not_looked_at(encoder_spec: ModelSpec) -> None:
    model, batch = make_model(encoder_spec), make_batch(encoder_spec)
    z = make_z(model, batch)
    assert torch.equal(model(z, batch), model(z, replace(batch, y=batch.y + 77)))


def test_every_token_and_the_order_matter(encoder_spec: ModelSpec) -> None:
    model = make_model(encoder_spec)
    batch = make_batch(encoder_spec, 1, 4)
    rows = torch.tensor([[[1, 2, 3, 4], [1, 2, 4, 3], [5, 2, 3, 4], [1, 2, 3, 0]]])
    batch = replace(batch, x=rows, x_length=torch.full((1, 4), 4))
    first, *others = model(make_z(model, batch), batch)[0]
    for other in others:
        assert (first - other).abs().max() > 1e-6


def test_classes_that_a_task_has_not_are_left_out(encoder_spec: ModelSpec) -> None:
    model, batch = make_model(encoder_spec), make_batch(encoder_spec)
    z = make_z(model, batch)
    every = model(z, batch)
    some = model(z, replace(batch, classes=torch.tensor([1, 2, 3])))
    assert some[0, :, 1:].eq(-torch.inf).all()
    assert some[1, :, 2:].eq(-torch.inf).all()
    torch.testing.assert_close(some.exp().sum(-1), torch.ones_like(some[..., 0]))
    torch.testing.assert_close(some[2], every[2])
    torch.testing.assert_close(some[1, :, :2], every[1, :, :2].log_softmax(-1))


def test_the_class_mask_leaves_gradients_finite(encoder_spec: ModelSpec) -> None:
    model, batch = make_model(encoder_spec), make_batch(encoder_spec)
    batch = replace(batch, classes=torch.tensor([1, 2, 3]))
    log_prob = model(make_z(model, batch), batch)
    log_prob[..., 0].sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_a_batch_of_the_other_kind_is_refused(encoder_spec: ModelSpec) -> None:
    model, batch = make_model(encoder_spec), make_batch(encoder_spec)
    z = make_z(model, batch)
    sequences = replace(batch, y=batch.x, y_length=batch.x_length)
    with pytest.raises(ValueError, match="must be for classification, as the model is: got transduction"):
        model(z, sequences)


@pytest.mark.parametrize("change", [{"layers": 1}, {"purpose": "embed", "conditioning": "none"}])
def test_where_it_would_not_help_nothing_is_cached(change: dict[str, Any]) -> None:
    spec = ModelSpec(kind="classification", vocabulary=7, classes=3, max_x=4, layers=2, width=8, heads=2)
    model, batch = make_model(replace(spec, **change)), make_batch(spec)
    assert model.with_x_cache(batch) is batch
