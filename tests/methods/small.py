"""Specs of small models of every sort, and plain readings of their losses."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from tam.models import Batch, Model, ModelSpec
from tests.models.conftest import make_model

T = TypeVar("T")

ENCODER = ModelSpec(kind="classification", vocabulary=5, classes=3, max_x=3, layers=1, width=8, heads=2)
DECODER = ModelSpec(kind="transduction", vocabulary=5, max_x=3, max_y=2, layers=1, width=8, heads=2)
SPECS: dict[str, ModelSpec] = {
    "encoder": ENCODER,
    "decoder": DECODER,
    "adapter": replace(DECODER, conditioning="adapter", bottleneck=2),
    "norm": replace(ENCODER, conditioning="norm"),
    "lstm": replace(ENCODER, backbone="lstm"),
    "encoder-tokens": replace(ENCODER, task_tokens=2),
    "decoder-first": replace(DECODER, task_tokens=2, task_first=True),
    "encoder-compositional": replace(ENCODER, primitives=6, slots=3),
    "decoder-compositional": replace(DECODER, primitives=6, slots=3),
}


def some(value: T | None) -> T:
    """A value that is there."""
    assert value is not None
    return value


def trained(spec: ModelSpec) -> Model:
    """A model whose embeddings are as large as after training."""
    model, generator = make_model(spec), torch.Generator().manual_seed(4)
    with torch.no_grad():
        for table in (model.task_embeddings, model.unknown):
            if table is not None:
                table.normal_(std=0.3, generator=generator)
    return model


def with_support(queries: Batch, support: Batch) -> Batch:
    """Queries with a support in which one example of the second task is not there."""
    present = torch.ones_like(support.x_length, dtype=torch.bool)
    present[1, 2] = False
    return replace(queries, support=replace(support, present=present))


def task_tokens(model: Model, batch: Batch, task: int) -> list[Tensor]:
    """The vectors at a task's places, with those of its primitives added; one of these is unknown."""
    tokens = list(model.places)
    if batch.primitives is not None:
        for slot in range(model.spec.slots):
            if slot == some(batch.unknown)[task]:
                tokens[slot] = tokens[slot] + some(model.unknown)[0]
            else:
                tokens[slot] = tokens[slot] + some(model.primitives)[batch.primitives[task, slot]]
    return tokens


def plain_loss(
    model: Model, weights: Mapping[str, Tensor], z: Tensor | None, batch: Batch, task: int, rows: slice
) -> Tensor:
    """The mean loss of some rows of one task, in a network with these weights; z is `[S]`."""
    one = batch.part(slice(task, task + 1)).cut(rows)
    log_prob = functional_call(model, dict(weights), (None if z is None else z.view(1, 1, -1), one))
    if one.y_length is None:
        return F.nll_loss(log_prob[0], one.y[0])
    return -log_prob.sum() / (one.y_length + 1).sum()


def assert_same_gradients(model: Model, other: Model) -> None:
    for (name, a), b in zip(model.named_parameters(), other.parameters(), strict=True):
        assert a.grad is not None, name
        expected = torch.zeros_like(b) if b.grad is None else b.grad
        torch.testing.assert_close(a.grad, expected, rtol=1e-7, atol=1e-10, msg=name)
