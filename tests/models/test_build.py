import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.models import ModelSpec, build_model, task_size
from tam.models.layers import table_names
from tests.models.conftest import DECODER, ENCODER, make_batch, make_model, make_z


def weights(spec: ModelSpec, seed: int) -> dict[str, Tensor]:
    return build_model(spec, torch.Generator().manual_seed(seed)).state_dict()


def test_the_seed_determines_every_weight_and_nothing_else_does(spec: ModelSpec) -> None:
    state = torch.get_rng_state()
    first, again, other = weights(spec, 0), weights(spec, 0), weights(spec, 1)
    assert all(torch.equal(first[name], again[name]) for name in first)
    random = [name for name in first if first[name].unique().numel() > 2]  # others start at 0 or 1
    assert all(not torch.equal(first[name], other[name]) for name in random)
    assert {"x.token", "places", "head.weight"} <= set(random)
    assert ("x.position" in random) == (spec.positions == "table")
    assert torch.equal(torch.get_rng_state(), state)


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


def test_parameters_of_methods_change_no_other(conditioned_spec: ModelSpec) -> None:
    composed = conditioned_spec.compositional
    before = weights(conditioned_spec, 0)
    after = weights(replace(conditioned_spec, **({"unknown": True} if composed else {"tasks": 5})), 0)
    added = after.pop("unknown" if composed else "task_embeddings")
    assert added.shape == (1 if composed else 5, task_size(conditioned_spec))
    assert not added.any()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


OF_X, OF_Y = {"x.token", "x.position"}, {"y.token", "y.position"}
TABLES: list[tuple[ModelSpec, set[str]]] = [
    (replace(ENCODER, tasks=4), OF_X | {"task_embeddings"}),
    (replace(DECODER, primitives=4, slots=2, unknown=True), OF_X | OF_Y | {"primitives", "unknown"}),
    (replace(ENCODER, conditioning="none", purpose="answer from pairs"), OF_X | {"labels"}),
    (replace(ENCODER, conditioning="none", purpose="compare"), OF_X | {"position"}),
    (replace(DECODER, proposer=True), OF_X | OF_Y | {f"proposer.{name}" for name in OF_X | OF_Y}),
]


@pytest.mark.parametrize(("of", "expected"), TABLES, ids=range(len(TABLES)))
def test_parameters_of_which_a_pass_may_leave_rows_unused_are_tables(
    of: ModelSpec, expected: set[str]
) -> None:
    model = build_model(of, torch.Generator())
    assert table_names(model) & set(dict(model.named_parameters())) == expected
