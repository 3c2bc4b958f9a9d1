import math
from dataclasses import replace

import torch
from torch import Tensor

from tam.models import ModelSpec, build_model
from tests.models.conftest import make_batch, make_model, make_z


def weights(spec: ModelSpec, seed: int) -> dict[str, Tensor]:
    return build_model(spec, torch.Generator().manual_seed(seed)).state_dict()


def test_the_seed_determines_every_weight(spec: ModelSpec) -> None:
    first, again, other = weights(spec, 0), weights(spec, 0), weights(spec, 1)
    assert all(torch.equal(first[name], again[name]) for name in first)
    random = [name for name in first if first[name].unique().numel() > 2]  # others start at 0 or 1
    assert all(not torch.equal(first[name], other[name]) for name in random)
    assert {"x.token", "places", "head.weight"} <= set(random)
    assert ("x.position" in random) == (spec.positions == "table")


def test_the_global_random_state_is_not_touched(spec: ModelSpec) -> None:
    before = torch.get_rng_state()
    build_model(spec, torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), before)


def test_every_parameter_is_used(spec: ModelSpec) -> None:
    model, batch = make_model(spec), make_batch(spec, 8, 8)
    model(make_z(model, batch), batch).exp().square().sum().backward()
    assert all(p.grad is not None and p.grad.ne(0).any() for p in model.parameters())


def test_the_first_predictions_are_close_to_uniform(spec: ModelSpec) -> None:
    spec = replace(spec, width=64)
    model, batch = build_model(spec, torch.Generator().manual_seed(0)), make_batch(spec)
    if batch.y_length is not None:
        batch = replace(batch, y_length=torch.full_like(batch.y_length, spec.max_y), y=batch.y % 7)
    z = model.blank(batch.tasks).unsqueeze(1) if model.task_size else None
    assert (model(z, batch) + math.log(spec.outputs)).abs().max() < 0.8


def test_weights_can_be_saved_and_loaded(spec: ModelSpec) -> None:
    model, other, batch = make_model(spec, 0), make_model(spec, 1), make_batch(spec)
    z = make_z(model, batch)
    assert not torch.equal(model(z, batch), other(z, batch))
    other.load_state_dict(model.state_dict())
    assert torch.equal(model(z, batch), other(z, batch))


def test_parameters_of_methods_are_there_if_asked_for_and_change_no_other(
    conditioned_spec: ModelSpec,
) -> None:
    asked = {"unknown": True} if conditioned_spec.compositional else {"tasks": 5}
    model, plain = (
        build_model(spec, torch.Generator().manual_seed(0))
        for spec in (replace(conditioned_spec, **asked), conditioned_spec)
    )
    assert (plain.task_embeddings, plain.unknown) == (None, None)
    (added,) = set(model.state_dict()) - set(plain.state_dict())
    table = model.state_dict()[added]
    if conditioned_spec.compositional:
        assert (added, table.shape) == ("unknown", (1, model.task_size))
    else:
        assert (added, table.shape) == ("task_embeddings", (5, plain.task_size))
    assert table.eq(0).all()
    batch = make_batch(conditioned_spec)
    z = make_z(model, batch).float()
    assert torch.equal(model(z, batch), plain(z, batch))
