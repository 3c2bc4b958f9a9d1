"""Small models of every sort in float64, and batches of random examples for them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from tam.methods import MAML
from tam.models import Batch, Model, ModelSpec, build_model

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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `spec` runs with every sort of model; `plain_spec`, with one of each kind;
    `maml_spec`, with every sort that MAML trains."""
    if "spec" in metafunc.fixturenames:
        metafunc.parametrize("spec", list(SPECS.values()), ids=list(SPECS))
    if "plain_spec" in metafunc.fixturenames:
        metafunc.parametrize("plain_spec", [ENCODER, DECODER], ids=["encoder", "decoder"])
    if "maml_spec" in metafunc.fixturenames:
        names = ("encoder", "decoder", "lstm", "encoder-compositional", "decoder-compositional")
        metafunc.parametrize("maml_spec", [MAML().spec(SPECS[name], 3) for name in names], ids=names)
    if "compositional_spec" in metafunc.fixturenames:
        chosen = {name: spec for name, spec in SPECS.items() if spec.compositional}
        metafunc.parametrize("compositional_spec", list(chosen.values()), ids=list(chosen))


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


def _plain_loss(
    model: Model, weights: Mapping[str, Tensor], z: Tensor | None, batch: Batch, task: int, rows: slice
) -> Tensor:
    """The mean loss of some rows of one task, in a network with these weights; z is `[S]`."""
    one = batch.part(slice(task, task + 1)).cut(rows)
    log_prob = functional_call(model, dict(weights), (None if z is None else z.view(1, 1, -1), one))
    if one.y_length is None:
        return F.nll_loss(log_prob[0], one.y[0])
    return -log_prob.sum() / (one.y_length + 1).sum()


@torch.no_grad()
def _shift(parameters: Sequence[Tensor], directions: Sequence[Tensor], by: float) -> None:
    for parameter, direction in zip(parameters, directions, strict=True):
        parameter += by * direction


def _check_slopes(model: Model, loss: Callable[[], Tensor], step: float = 1e-6) -> None:
    """The gradients in `.grad` equal the slopes of the loss, along random directions."""
    generator = torch.Generator().manual_seed(3)
    parameters = list(model.parameters())
    for _ in range(4):
        directions = [torch.randn(p.shape, generator=generator, dtype=torch.float64) for p in parameters]

        def at(place: float, directions: list[Tensor] = directions) -> Tensor:
            _shift(parameters, directions, place)
            value = loss().detach()
            _shift(parameters, directions, -place)
            return value

        along = [
            (p.grad * d).sum() for p, d in zip(parameters, directions, strict=True) if p.grad is not None
        ]
        assert len(along) == len(parameters)
        torch.testing.assert_close(
            torch.stack(along).sum(), (at(step) - at(-step)) / (2 * step), rtol=1e-5, atol=1e-6
        )


def _assert_same_gradients(model: Model, other: Model) -> None:
    for (name, a), b in zip(model.named_parameters(), other.parameters(), strict=True):
        assert a.grad is not None, name
        expected = torch.zeros_like(b) if b.grad is None else b.grad
        torch.testing.assert_close(a.grad, expected, rtol=1e-7, atol=1e-10, msg=name)


@pytest.fixture
def plain_loss() -> Callable[..., Tensor]:
    return _plain_loss


@pytest.fixture
def check_slopes() -> Callable[..., None]:
    return _check_slopes


@pytest.fixture
def assert_same_gradients() -> Callable[[Model, Model], None]:
    return _assert_same_gradients


@pytest.fixture
def make_batch() -> Callable[..., Batch]:
    return _random_batch


@pytest.fixture
def make_model() -> Callable[..., Model]:
    return _sharp_model
