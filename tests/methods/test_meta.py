"""MAML and CAVIA against a plain reading: task after task, second derivatives by autograd, and slopes."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor

from tam.methods import CAVIA, MAML
from tam.models import Batch, Model, ModelSpec
from tests.methods.small import DECODER, ENCODER, SPECS, assert_same_gradients, plain_loss, some
from tests.models.conftest import make_batch, make_model

Order = Literal["second", "first"]
Kind = type[MAML] | type[CAVIA]
STEPS, SUPPORT = 3, 3
RATES: dict[Kind, float] = {MAML: 0.1, CAVIA: 0.3}
MAML_SPECS = ("encoder", "decoder", "lstm", "encoder-compositional", "decoder-compositional")
CASES: dict[str, tuple[Kind, ModelSpec]] = {
    **{f"maml-{name}": (MAML, MAML().spec(SPECS[name], 3)) for name in MAML_SPECS},
    **{f"cavia-{name}": (CAVIA, spec) for name, spec in SPECS.items()},
}
PLAIN: dict[str, tuple[Kind, ModelSpec]] = {
    name: CASES[name] for name in ("maml-encoder", "maml-decoder", "cavia-encoder", "cavia-decoder")
}
ORDERS = pytest.mark.parametrize("order", ["second", "first"])


def settings(
    kind: Kind, order: Order = "second", sizes: tuple[int, int] = (SUPPORT, SUPPORT)
) -> MAML | CAVIA:
    return kind(inner_steps=STEPS, inner_rate=RATES[kind], order=order, support_sizes=sizes)


def start(kind: Kind, model: Model) -> dict[str, Tensor]:
    """What the inner steps move: all weights, or z."""
    if kind is MAML:
        return dict(model.named_parameters())
    return {"z": torch.zeros(model.task_size, dtype=torch.float64, requires_grad=True)}


def loss_with(own: dict[str, Tensor], model: Model, batch: Batch, task: int, rows: slice) -> Tensor:
    if "z" in own:
        return plain_loss(model, {}, own["z"], batch, task, rows)
    return plain_loss(model, own, own.get("unknown"), batch, task, rows)


def meta_loss(kind: Kind, model: Model, batch: Batch, order: Order, sizes: list[int], cut: int) -> Tensor:
    """The sum of the tasks' query losses after the inner loop, a graph from θ on."""
    total = torch.zeros((), dtype=torch.float64)
    for task in range(batch.tasks):
        own = start(kind, model)
        for _ in range(STEPS):
            loss = loss_with(own, model, batch, task, slice(sizes[task]))
            gradients = torch.autograd.grad(loss, list(own.values()), create_graph=order == "second")
            own = {n: w - RATES[kind] * g for (n, w), g in zip(own.items(), gradients, strict=True)}
        total = total + loss_with(own, model, batch, task, slice(cut, None))
    return total


@ORDERS
@pytest.mark.parametrize("case", CASES)
def test_the_meta_gradient_equals_a_loop_over_tasks(case: str, order: Order) -> None:
    kind, spec = CASES[case]
    model, reference, batch = make_model(spec), make_model(spec), make_batch(spec, 3, 7)
    counts: list[float] = []
    losses = settings(kind, order).training_step(model, batch, lambda n: counts.append(n.item()), 0)
    expected = meta_loss(kind, reference, batch, order, [SUPPORT] * 3, SUPPORT)
    expected.backward()
    assert_same_gradients(model, reference)
    assert counts == [3]
    assert losses.steps == STEPS
    torch.testing.assert_close(losses.end, expected.detach() / 3)
    own = start(kind, reference)
    first = [loss_with(own, reference, batch, task, slice(SUPPORT)).detach() for task in range(3)]
    torch.testing.assert_close(losses.start, torch.stack(first).mean())


@pytest.mark.parametrize("case", PLAIN)
def test_supports_of_different_sizes(case: str) -> None:
    kind, spec = PLAIN[case]
    chance = torch.tensor([[0.0], [0.999], [0.5]], dtype=torch.float64)
    batch = replace(make_batch(spec, 3, 7), chance=chance)
    model, reference = make_model(spec), make_model(spec)
    settings(kind, sizes=(1, 4)).training_step(model, batch, lambda _: None, 0)
    meta_loss(kind, reference, batch, "second", [1, 4, 2], 4).backward()
    assert_same_gradients(model, reference)


@ORDERS
@pytest.mark.parametrize("empty", ["x", "y"])
def test_sequences_may_all_be_empty(empty: str, order: Order) -> None:
    """Then the network does not use the embeddings of their tokens, and those have no gradient."""
    spec = MAML().spec(DECODER, 3)
    model, batch = make_model(spec), make_batch(spec, 3, 7)
    nothing = {empty: getattr(batch, empty)[..., :0], f"{empty}_length": torch.zeros_like(batch.x_length)}
    losses = settings(MAML, order).training_step(model, replace(batch, **nothing), lambda _: None, 0)
    assert losses.end < losses.start
    for name, parameter in model.named_parameters():
        assert name.startswith(f"{empty}.") == (not some(parameter.grad).any())


def test_kernels_need_first_derivatives_and_shared_weights() -> None:
    assert settings(CAVIA, "first").allows_kernels
    assert not settings(CAVIA, "second").allows_kernels
    assert not settings(MAML, "first").allows_kernels
    assert make_model(MAML().spec(ENCODER, 3)).task_size == 0
