"""Where z enters, and that it is a value: nothing of it stays in the model."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.models import ModelSpec
from tam.models.layers import Adapter, LayerNorm
from tests.models.conftest import make_batch, make_model, make_z


def loss(log_prob: Tensor) -> Tensor:
    """Something that every log-probability has its own influence on."""
    weights = torch.linspace(0.5, 1.5, log_prob.numel(), dtype=log_prob.dtype)
    return (log_prob.exp().flatten() * weights).sum()


def test_one_copy_equals_a_copy_for_each_row(conditioned_spec: ModelSpec) -> None:
    model, batch = make_model(conditioned_spec), make_batch(conditioned_spec, 3, 4)
    shared = make_z(model, batch).requires_grad_()
    own = shared.detach().repeat(1, 4, 1).requires_grad_()
    values = [model(shared, batch), model(own, batch)]
    torch.testing.assert_close(*values)
    gradients = [
        torch.autograd.grad(loss(value), z)[0] for value, z in zip(values, (shared, own), strict=True)
    ]
    torch.testing.assert_close(gradients[0], gradients[1].sum(1, keepdim=True))


def test_each_rows_copy_is_its_own(conditioned_spec: ModelSpec) -> None:
    model, batch = make_model(conditioned_spec), make_batch(conditioned_spec, 3, 4)
    before = make_z(model, batch, copies=4)
    after = before.clone()
    after[1, 2] *= -1  # not a shift, which a LayerNorm would take away
    same = (model(before, batch) == model(after, batch)).all(-1)
    assert not same[1, 2]
    assert same.sum() == 11


def test_z_matters_from_the_start(conditioned_spec: ModelSpec) -> None:
    model, batch = make_model(conditioned_spec), make_batch(conditioned_spec)
    z = model.blank(batch.tasks).unsqueeze(1).requires_grad_()
    log_prob = model(z, batch)
    (gradient,) = torch.autograd.grad(loss(log_prob), z)
    assert gradient.ne(0).double().mean() > 0.95  # a few offsets cannot matter, as a bias before a softmax
    moved = model(z.detach() - 0.1 * gradient.sign(), batch)
    assert ((moved - log_prob).abs().amax((1, 2)) > 1e-3).all()


def test_an_offset_equals_weights_that_are_moved(offset_spec: ModelSpec) -> None:
    """A network with offset z is the one without offset whose shared weights have z added."""
    sort, names = {
        "norm": (LayerNorm, ("scale", "bias")),
        "adapter": (Adapter, ("down", "down_bias", "up", "up_bias")),
    }[offset_spec.conditioning]
    model, batch = make_model(offset_spec), make_batch(offset_spec, 1)
    z = make_z(model, batch)
    expected = model(z, batch)
    rest = z.flatten()
    with torch.no_grad():
        for module in model.modules():
            for name in names if isinstance(module, sort) else ():
                weight = getattr(module, name)
                weight += rest[: weight.numel()].view_as(weight)
                rest = rest[weight.numel() :]
    assert rest.numel() == 0
    torch.testing.assert_close(model(torch.zeros_like(z), batch), expected)
    without_offsets = replace(model.condition(z, batch), modulation=None)
    torch.testing.assert_close(model.log_prob(without_offsets, batch), expected)


def test_a_condition_of_one_copy_serves_any_rows(conditioned_spec: ModelSpec) -> None:
    """What was found on the support conditions the queries, however many they are."""
    model, support = make_model(conditioned_spec), make_batch(conditioned_spec, 3, 4)
    z = make_z(model, support)
    query = make_batch(conditioned_spec, 3, 7, seed=1)
    query = replace(query, primitives=support.primitives, unknown=support.unknown)
    expected = model(z, query)
    assert torch.equal(model.log_prob(model.condition(z, support), query), expected)
    with pytest.raises(ValueError, match="3 tasks with 4 copies"):
        model.log_prob(model.condition(z.repeat(1, 4, 1), support), query)
    with pytest.raises(ValueError, match="3 tasks with 1 copies"):
        model.log_prob(model.condition(z, support), make_batch(conditioned_spec, 2, 4))


def test_wrong_z_is_refused(spec: ModelSpec) -> None:
    model, batch = make_model(spec), make_batch(spec, 3, 4)
    if spec.conditioning == "none":
        with pytest.raises(ValueError, match="'none'"):
            model.blank(5)
        with pytest.raises(ValueError, match="z must be None"):
            model.condition(torch.zeros(3, 1, 0), batch)
        return
    with pytest.raises(ValueError, match="z must not be None"):
        model.condition(None, batch)
    for shape in ((3, model.task_size), (3, 2, model.task_size), (2, 1, model.task_size), (3, 1, 5)):
        with pytest.raises(ValueError, match="shapes"):
            model.condition(torch.zeros(shape), batch)
