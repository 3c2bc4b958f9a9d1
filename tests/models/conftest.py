"""Small models of every sort, and batches full of traps: random lengths, absurd ids in the padding."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tam.models import Batch, Model, ModelSpec, build_model

ENCODER = ModelSpec(kind="classification", vocabulary=7, classes=3, max_x=4, layers=2, width=8, heads=2)
DECODER = ModelSpec(kind="transduction", vocabulary=7, max_x=4, max_y=3, layers=2, width=8, heads=2)
SPECS: dict[str, ModelSpec] = {
    f"{name}-{conditioning}": replace(spec, conditioning=conditioning)
    for name, spec in (("encoder", ENCODER), ("decoder", DECODER))
    for conditioning in ("token", "adapter", "norm", "none")
} | {
    "encoder-compositional": replace(ENCODER, primitives=6, slots=3),
    "decoder-compositional": replace(DECODER, primitives=6, slots=3),
    "encoder-tokens": replace(ENCODER, task_tokens=2),
    "decoder-tokens": replace(DECODER, task_tokens=2),
    "decoder-first": replace(DECODER, task_tokens=2, task_first=True),
    "decoder-full": replace(DECODER, x_mask="full"),
    "decoder-first-full": replace(DECODER, task_first=True, x_mask="full"),
    "decoder-copies": replace(DECODER, unknown_tokens=True, copies=True),
    "decoder-copies-first": replace(DECODER, copies=True, task_first=True),
    "encoder-compositional-tokens": replace(ENCODER, primitives=6, slots=3, task_tokens=2),
    "decoder-compositional-first": replace(DECODER, primitives=6, slots=3, task_tokens=2, task_first=True),
    "encoder-rotary": replace(ENCODER, positions="rotary", task_tokens=2),
    "decoder-rotary": replace(DECODER, positions="rotary", task_first=True),
    "decoder-rotary-copies": replace(DECODER, positions="rotary", copies=True, unknown_tokens=True),
    "lstm-token": replace(ENCODER, backbone="lstm"),
    "lstm-none": replace(ENCODER, backbone="lstm", conditioning="none"),
}


WANTED: dict[str, Callable[[ModelSpec], bool]] = {
    "spec": lambda _: True,
    "conditioned_spec": lambda spec: spec.conditioning != "none",
    "offset_spec": lambda spec: spec.conditioning in ("adapter", "norm"),
    "encoder_spec": lambda spec: spec.kind == "classification",
    "decoder_spec": lambda spec: spec.kind == "transduction",
    "compositional_spec": lambda spec: spec.compositional,
}


def run_with(specs: dict[str, ModelSpec], metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `spec` with each of these; `conditioned_spec` and so on, with those alone."""
    for name, applies in WANTED.items():
        if name in metafunc.fixturenames:
            chosen = {key: spec for key, spec in specs.items() if applies(spec)}
            metafunc.parametrize(name, list(chosen.values()), ids=list(chosen))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    run_with(SPECS, metafunc)


def make_batch(
    spec: ModelSpec,
    tasks: int = 3,
    rows: int = 4,
    *,
    seed: int = 0,
    x: int | None = None,
    y: int | None = None,
) -> Batch:
    generator = torch.Generator().manual_seed(seed)

    def integers(most: int, *shape: int, least: int = 0) -> Tensor:
        return torch.randint(least, most, shape, generator=generator)

    def sequences(width: int) -> tuple[Tensor, Tensor]:
        length = integers(width + 1, tasks, rows)
        ids = integers(spec.vocabulary, tasks, rows, width)
        absurd = integers(10**9, tasks, rows, width, least=-(10**9))
        return torch.where(torch.arange(width) < length[..., None], ids, absurd), length

    x_ids, x_length = sequences(spec.max_x if x is None else x)
    y_ids, y_length = sequences(spec.max_y if y is None else y)
    classify = spec.kind == "classification"
    primitives = unknown = None
    if spec.compositional:
        primitives = integers(spec.primitives, tasks, spec.slots)
        unknown = integers(spec.slots, tasks)
        primitives.scatter_(1, unknown[:, None], integers(10**9, tasks, 1, least=-(10**9)))
    return Batch(
        x=x_ids,
        x_length=x_length,
        y=integers(spec.classes, tasks, rows) if classify else y_ids,
        y_length=None if classify else y_length,
        primitives=primitives,
        unknown=unknown,
        chance=torch.rand(tasks, 2, generator=generator, dtype=torch.float64),
    )


def make_model(spec: ModelSpec, seed: int = 0) -> Model:
    """A model in float64, with logits as large as those of a trained one."""
    model = build_model(spec, torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():
        model.head.weight.mul_(20)
    return model


def make_z(model: Model, batch: Batch, copies: int = 1) -> Any:
    """Random task embeddings, or None for a model without."""
    if model.task_size == 0:
        return None
    generator = torch.Generator().manual_seed(9)
    return 0.3 * torch.randn(batch.tasks, copies, model.task_size, generator=generator, dtype=torch.float64)
