"""MAML against a plain reading: one task after another, second derivatives by autograd, and slopes."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor

from tam.errors import UserError
from tam.methods import MAML
from tam.models import Batch, Model, ModelSpec
from tam.training.adam import Adam

Order = Literal["second", "first"]
Make = Callable[..., Batch]
MakeModel = Callable[..., Model]
PlainLoss = Callable[..., Tensor]
ORDERS = pytest.mark.parametrize("order", ["second", "first"])

STEPS, RATE, SUPPORT = 3, 0.1, 3


def settings(order: Order = "second", sizes: tuple[int, int] = (SUPPORT, SUPPORT)) -> MAML:
    return MAML(inner_steps=STEPS, inner_rate=RATE, order=order, support_sizes=sizes)


def meta_loss(
    model: Model, batch: Batch, plain_loss: PlainLoss, order: Order, sizes: list[int], cut: int
) -> Tensor:
    """The sum of the tasks' query losses after the inner loop, a graph from θ on."""
    total = torch.zeros((), dtype=torch.float64)
    for task in range(batch.tasks):
        own = dict(model.named_parameters())
        for _ in range(STEPS):
            z = own.get("unknown")
            loss = plain_loss(model, own, z, batch, task, slice(sizes[task]))
            gradients = torch.autograd.grad(loss, list(own.values()), create_graph=order == "second")
            own = {n: w - RATE * g for (n, w), g in zip(own.items(), gradients, strict=True)}
        total = total + plain_loss(model, own, own.get("unknown"), batch, task, slice(cut, None))
    return total


@ORDERS
def test_the_meta_gradient_equals_a_loop_over_tasks(
    maml_spec: ModelSpec,
    order: Order,
    make_model: MakeModel,
    make_batch: Make,
    plain_loss: PlainLoss,
    assert_same_gradients: Callable[[Model, Model], None],
) -> None:
    model, reference, batch = make_model(maml_spec), make_model(maml_spec), make_batch(maml_spec, 3, 7)
    counts: list[float] = []
    losses = settings(order).training_step(model, batch, lambda n: counts.append(n.item()), 0)
    expected = meta_loss(reference, batch, plain_loss, order, [SUPPORT] * 3, SUPPORT)
    expected.backward()
    assert_same_gradients(model, reference)
    assert counts == [3]
    torch.testing.assert_close(losses.end, expected.detach() / 3)
    assert losses.steps == STEPS
    first = [
        plain_loss(reference, {}, reference.unknown, batch, task, slice(SUPPORT)).detach()
        for task in range(3)
    ]
    torch.testing.assert_close(losses.start, torch.stack(first).mean())


def test_supports_of_different_sizes(
    plain_spec: ModelSpec,
    make_model: MakeModel,
    make_batch: Make,
    plain_loss: PlainLoss,
    assert_same_gradients: Callable[[Model, Model], None],
) -> None:
    spec = plain_spec.without_embedding()
    chance = torch.tensor([[0.0], [0.999], [0.5]], dtype=torch.float64)
    batch = replace(make_batch(spec, 3, 7), chance=chance)
    model, reference = make_model(spec), make_model(spec)
    settings(sizes=(1, 4)).training_step(model, batch, lambda _: None, 0)
    meta_loss(reference, batch, plain_loss, "second", [1, 4, 2], 4).backward()
    assert_same_gradients(model, reference)


def test_the_meta_gradient_is_the_slope_of_the_query_loss(
    maml_spec: ModelSpec,
    make_model: MakeModel,
    make_batch: Make,
    plain_loss: PlainLoss,
    check_slopes: Callable[..., None],
) -> None:
    model, batch = make_model(maml_spec), make_batch(maml_spec, 2, 7)
    settings().training_step(model, batch, lambda _: None, 0)
    check_slopes(model, lambda: meta_loss(model, batch, plain_loss, "first", [SUPPORT] * 2, SUPPORT))


def test_the_orders_differ_and_both_move_theta(
    plain_spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    spec = plain_spec.without_embedding()
    batch, moved = make_batch(spec, 3, 7), dict[str, Model]()
    for order in ("second", "first"):
        moved[order] = make_model(spec)
        adam = Adam(moved[order], (), 1.0)
        adam.rate.fill_(0.01)
        settings(order).training_step(moved[order], batch, adam.move, 0)
    for start, second, first in zip(
        make_model(spec).parameters(), moved["second"].parameters(), moved["first"].parameters(), strict=True
    ):
        assert (second != start).any()
        assert (first != start).any()
        assert (second != first).any()


def test_adapting_is_the_inner_rule_on_a_model_of_its_own(
    maml_spec: ModelSpec, make_model: MakeModel, make_batch: Make, plain_loss: PlainLoss
) -> None:
    model, batch, steps = make_model(maml_spec), make_batch(maml_spec, 3, 4), (2, 5)
    before = deepcopy(model)
    states = MAML().adapt(model, batch, steps, 0.02)
    for task in range(3):
        alone = deepcopy(model)
        sgd = torch.optim.SGD(alone.parameters(), lr=0.02)
        part, visited = batch.part(slice(task, task + 1)), list[tuple[float, Tensor]]()
        for step in range(6):
            sgd.zero_grad()
            loss = plain_loss(alone, {}, alone.unknown, batch, task, slice(None))
            z = None if alone.unknown is None else alone.unknown.view(1, 1, -1)
            visited.append((loss.item(), alone.outcomes(alone.condition(z, part), part).detach()))
            if step in steps:
                _, best = min(visited, key=lambda pair: pair[0])
                found = MAML().outcomes(model, states[steps.index(step)], batch)[task : task + 1]
                torch.testing.assert_close(found, best)
            loss.backward()
            sgd.step()
        assert visited[-1][0] < visited[0][0]
    for (name, a), b in zip(model.named_parameters(), before.parameters(), strict=True):
        assert torch.equal(a, b), name
        assert a.grad is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"inner_steps": 0},
        {"inner_rate": -0.1},
        {"order": "third"},
        {"support_sizes": (0, 4)},
        {"support_sizes": (8, 4)},
    ],
)
def test_wrong_settings_are_errors(wrong: dict[str, object]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        MAML(**wrong)  # pyright: ignore[reportArgumentType]


def test_conditioning_that_would_have_no_effect_is_an_error(plain_spec: ModelSpec) -> None:
    with pytest.raises(ValueError, match="'norm' has no effect"):
        MAML().spec(replace(plain_spec, conditioning="norm"), 3)


@ORDERS
@pytest.mark.parametrize("empty", ["x", "y"])
def test_sequences_may_all_be_empty(
    empty: str, order: Order, make_model: MakeModel, make_batch: Make
) -> None:
    """Then the network does not look at the embeddings of their tokens, and those have no gradient."""
    spec = MAML().spec(ModelSpec(kind="transduction", vocabulary=5, max_x=3, max_y=2, layers=1, width=8), 3)
    model, batch = make_model(spec), make_batch(spec, 3, 7)
    nothing = {empty: getattr(batch, empty)[..., :0], f"{empty}_length": torch.zeros_like(batch.x_length)}
    batch = replace(batch, **nothing)
    losses = settings(order).training_step(model, batch, lambda _: None, 0)
    assert losses.end < losses.start
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        assert name.startswith(f"{empty}.") == (not parameter.grad.any())
