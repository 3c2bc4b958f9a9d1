"""Rows that hold the weights of a network for each task."""

from dataclasses import replace

import torch

from tam.methods import MAML, weights
from tam.models import ModelSpec, build_model
from tests.methods.small import some
from tests.models.conftest import make_model


def test_rows_hold_the_weights_and_z_and_no_table_of_other_tasks(spec: ModelSpec) -> None:
    asked = {"unknown": True} if spec.compositional else {"tasks": 7}
    model, plain = make_model(replace(spec, **asked)), make_model(spec)
    numbers = sum(parameter.numel() for parameter in plain.parameters())
    z = torch.randn(2, model.task_size, dtype=torch.float64)
    rows = weights.start_rows(model, 2, z)
    assert rows.shape == (2, numbers + model.task_size)
    assert not rows.requires_grad
    own = weights.from_rows(model, rows)
    assert set(own) == {"z", *dict(plain.named_parameters())}
    assert torch.equal(own.pop("z"), z)
    for name, parameter in plain.named_parameters():
        assert torch.equal(own[name], parameter.expand(2, *parameter.shape))
    assert set(weights.from_rows(model, weights.start_rows(model, 2))) == set(own)


def test_memory_is_bounded_for_the_papers_model() -> None:
    paper = ModelSpec(kind="classification", vocabulary=12, classes=4, max_x=5, conditioning="none")
    model = build_model(paper, torch.Generator().manual_seed(0))
    assert 64 <= some(MAML().at_once(model)) <= 128
