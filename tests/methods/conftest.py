"""Small models of every sort in float64, and batches of random examples for them."""

from collections.abc import Callable, Generator
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.models import Batch, Model, ModelSpec, build_model

ENCODER = ModelSpec(kind="classification", vocabulary=5, classes=3, max_x=3, layers=1, width=8, heads=2)
DECODER = ModelSpec(kind="transduction", vocabulary=5, max_x=3, max_y=2, layers=1, width=8, heads=2)
SPECS: dict[str, ModelSpec] = {
    "encoder": ENCODER,
    "decoder": DECODER,
    "adapter": replace(DECODER, conditioning="adapter", bottleneck=2),
    "norm": replace(ENCODER, conditioning="norm"),
    "lstm": replace(ENCODER, backbone="lstm"),
    "encoder-compositional": replace(ENCODER, primitives=6, slots=3),
    "decoder-compositional": replace(DECODER, primitives=6, slots=3),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `spec` runs with every sort of model; `plain_spec`, with one of each kind."""
    if "spec" in metafunc.fixturenames:
        metafunc.parametrize("spec", list(SPECS.values()), ids=list(SPECS))
    if "plain_spec" in metafunc.fixturenames:
        metafunc.parametrize("plain_spec", [ENCODER, DECODER], ids=["encoder", "decoder"])
    if "compositional_spec" in metafunc.fixturenames:
        chosen = {name: spec for name, spec in SPECS.items() if spec.compositional}
        metafunc.parametrize("compositional_spec", list(chosen.values()), ids=list(chosen))


@pytest.fixture(autouse=True)
def one_thread() -> Generator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _random_batch(spec: ModelSpec, tasks: int = 3, rows: int = 5, seed: int = 0) -> Batch:
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


def _sharp_model(spec: ModelSpec, seed: int = 0) -> Model:
    """A model whose logits are as large as those of a trained one, so that losses differ clearly."""
    model = build_model(spec, torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():
        model.head.weight.mul_(20)
    return model


@pytest.fixture
def make_batch() -> Callable[..., Batch]:
    return _random_batch


@pytest.fixture
def make_model() -> Callable[..., Model]:
    return _sharp_model
