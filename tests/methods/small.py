"""Small models of every sort in float64, random batches for them, and plain readings of their losses."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from tam.models import Batch, Model, ModelSpec, build_model

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


def make_batch(spec: ModelSpec, tasks: int = 3, rows: int = 5, seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)

    def integers(most: int, *shape: int) -> Tensor:
        return torch.randint(most, shape, generator=generator)

    classify = spec.kind == "classification"
    return Batch(
        x=integers(spec.vocabulary, tasks, rows, spec.max_x),
        x_length=integers(spec.max_x + 1, tasks, rows),
        y=integers(spec.classes, tasks, rows)
        if classify
        else integers(spec.vocabulary, tasks, rows, spec.max_y),
        y_length=None if classify else integers(spec.max_y + 1, tasks, rows),
        primitives=integers(spec.primitives, tasks, spec.slots) if spec.compositional else None,
        unknown=integers(spec.slots, tasks) if spec.compositional else None,
        chance=torch.rand(tasks, 2, generator=generator, dtype=torch.float64),
    )


def make_model(spec: ModelSpec, seed: int = 0) -> Model:
    """A model whose logits are as large as those of a trained one, so that losses differ clearly."""
    model = build_model(spec, torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():
        model.head.weight.mul_(20)
    return model


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
