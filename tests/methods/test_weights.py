"""A network for each task: what one vmapped pass gives equals a network after another."""

from copy import deepcopy
from dataclasses import replace

import torch
from torch import Tensor

from tam.methods import weights
from tam.models import Batch, Model, ModelSpec, build_model
from tests.methods.small import make_batch, make_model


def scattered(model: Model, tasks: int, z: Tensor | None) -> Tensor:
    """Rows of weights, other ones for each task."""
    rows = weights.start(model, tasks, z)
    return rows + 0.1 * torch.randn(rows.shape, generator=torch.Generator().manual_seed(5), dtype=rows.dtype)


def with_weights(model: Model, rows: Tensor, task: int) -> tuple[Model, Tensor | None]:
    """A model of its own with the weights of one task, and its z."""
    alone = deepcopy(model)
    own = weights.from_rows(model, rows)
    with torch.no_grad():
        for name, parameter in alone.named_parameters():
            parameter.copy_(own[name][task])
    return alone, own["z"][task].view(1, 1, -1) if "z" in own else None


def check(model: Model, z: Tensor | None, batch: Batch) -> None:
    """One pass for all tasks against a model for each."""
    rows = scattered(model, batch.tasks, z)
    together = weights.outcomes(model, weights.from_rows(model, rows), batch)
    for task in range(batch.tasks):
        alone, own_z = with_weights(model, rows, task)
        part = batch.part(slice(task, task + 1))
        expected = alone.outcomes(alone.condition(own_z, part), part)
        torch.testing.assert_close(together[task : task + 1], expected)
        assert task == 0 or (together[task] != together[0]).any()


def test_each_task_is_answered_by_its_own_network(spec: ModelSpec) -> None:
    model = make_model(spec)
    check(model, model.blank(3), make_batch(spec, 3, 4))


def test_so_it_is_without_task_embeddings(plain_spec: ModelSpec) -> None:
    spec = plain_spec.without_embedding()
    batch = make_batch(spec, 3, 4)
    if spec.kind == "classification":  # a task need not have all classes
        batch = replace(batch, classes=torch.tensor([3, 1, 2]), y=torch.zeros_like(batch.y))
    check(make_model(spec), None, batch)


def test_rows_hold_the_weights_and_z_and_no_table_of_other_tasks(spec: ModelSpec) -> None:
    asked = {"unknown": True} if spec.compositional else {"tasks": 7}
    model, plain = make_model(replace(spec, **asked)), make_model(spec)
    numbers = sum(parameter.numel() for parameter in plain.parameters())
    z = torch.randn(2, model.task_size, dtype=torch.float64)
    rows = weights.start(model, 2, z)
    assert rows.shape == (2, numbers + model.task_size)
    assert not rows.requires_grad
    own = weights.from_rows(model, rows)
    assert set(own) == {"z", *dict(plain.named_parameters())}
    assert torch.equal(own.pop("z"), z)
    for name, parameter in plain.named_parameters():
        assert torch.equal(own[name], parameter.expand(2, *parameter.shape))
    assert set(weights.from_rows(model, weights.start(model, 2))) == set(own)


def test_memory_is_bounded_for_the_papers_model() -> None:
    paper = ModelSpec(kind="classification", vocabulary=12, classes=4, max_x=5, conditioning="none")
    model = build_model(paper, torch.Generator().manual_seed(0))
    assert 64 <= weights.tasks_at_once(model) <= 128
