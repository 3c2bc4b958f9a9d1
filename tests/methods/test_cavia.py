"""CAVIA against a plain reading: one task after another, second derivatives by autograd, and slopes."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor

from tam.methods import CAVIA
from tam.models import Batch, Model, ModelSpec
from tam.training.adam import Adam

Order = Literal["second", "first"]
Make = Callable[..., Batch]
MakeModel = Callable[..., Model]
PlainLoss = Callable[..., Tensor]
ORDERS = pytest.mark.parametrize("order", ["second", "first"])

STEPS, RATE, SUPPORT = 3, 0.3, 3


def settings(order: Order = "second", sizes: tuple[int, int] = (SUPPORT, SUPPORT)) -> CAVIA:
    return CAVIA(inner_steps=STEPS, inner_rate=RATE, order=order, support_sizes=sizes)


def meta_loss(
    model: Model, batch: Batch, plain_loss: PlainLoss, order: Order, sizes: list[int], cut: int
) -> Tensor:
    """The sum of the tasks' query losses after the inner loop, a graph from θ on."""
    total = torch.zeros((), dtype=torch.float64)
    for task in range(batch.tasks):
        z = torch.zeros(model.task_size, dtype=torch.float64, requires_grad=True)
        for _ in range(STEPS):
            loss = plain_loss(model, {}, z, batch, task, slice(sizes[task]))
            (gradient,) = torch.autograd.grad(loss, z, create_graph=order == "second")
            z = z - RATE * gradient
        total = total + plain_loss(model, {}, z, batch, task, slice(cut, None))
    return total


@ORDERS
def test_the_meta_gradient_equals_a_loop_over_tasks(
    spec: ModelSpec,
    order: Order,
    make_model: MakeModel,
    make_batch: Make,
    plain_loss: PlainLoss,
    assert_same_gradients: Callable[[Model, Model], None],
) -> None:
    model, reference, batch = make_model(spec), make_model(spec), make_batch(spec, 3, 7)
    counts: list[float] = []
    losses = settings(order).training_step(model, batch, lambda n: counts.append(n.item()), 0)
    expected = meta_loss(reference, batch, plain_loss, order, [SUPPORT] * 3, SUPPORT)
    expected.backward()
    assert_same_gradients(model, reference)
    assert counts == [3]
    torch.testing.assert_close(losses.end, expected.detach() / 3)
    assert losses.steps == STEPS
    blank = torch.zeros(model.task_size, dtype=torch.float64)
    first = [plain_loss(reference, {}, blank, batch, task, slice(SUPPORT)).detach() for task in range(3)]
    torch.testing.assert_close(losses.start, torch.stack(first).mean())


def test_supports_of_different_sizes(
    plain_spec: ModelSpec,
    make_model: MakeModel,
    make_batch: Make,
    plain_loss: PlainLoss,
    assert_same_gradients: Callable[[Model, Model], None],
) -> None:
    chance = torch.tensor([[0.0], [0.999], [0.5]], dtype=torch.float64)
    batch = replace(make_batch(plain_spec, 3, 7), chance=chance)
    model, reference = make_model(plain_spec), make_model(plain_spec)
    settings(sizes=(1, 4)).training_step(model, batch, lambda _: None, 0)
    meta_loss(reference, batch, plain_loss, "second", [1, 4, 2], 4).backward()
    assert_same_gradients(model, reference)


def test_the_meta_gradient_is_the_slope_of_the_query_loss(
    spec: ModelSpec,
    make_model: MakeModel,
    make_batch: Make,
    plain_loss: PlainLoss,
    check_slopes: Callable[..., None],
) -> None:
    model, batch = make_model(spec), make_batch(spec, 2, 7)
    settings().training_step(model, batch, lambda _: None, 0)
    check_slopes(model, lambda: meta_loss(model, batch, plain_loss, "first", [SUPPORT] * 2, SUPPORT))


def test_the_orders_differ_and_both_move_theta(
    plain_spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    batch, moved = make_batch(plain_spec, 3, 7), dict[str, Model]()
    for order in ("second", "first"):
        moved[order] = make_model(plain_spec)
        adam = Adam(moved[order], (), 1.0)
        adam.rate.fill_(0.01)
        settings(order).training_step(moved[order], batch, adam.move, 0)
    starts = make_model(plain_spec).parameters()
    for start, second, first in zip(
        starts, moved["second"].parameters(), moved["first"].parameters(), strict=True
    ):
        assert (second != start).any()
        assert (first != start).any()
        assert (second != first).any()


def test_adapting_is_the_inner_rule_on_z_alone(
    spec: ModelSpec, make_model: MakeModel, make_batch: Make, plain_loss: PlainLoss
) -> None:
    model, batch, steps = make_model(spec), make_batch(spec, 3, 4), (0, 2, 5)
    before = deepcopy(model)
    states = CAVIA().adapt(model, batch, steps, 0.1)
    for task in range(3):
        z = torch.zeros(model.task_size, dtype=torch.float64, requires_grad=True)
        sgd = torch.optim.SGD([z], lr=0.1)
        visited: list[tuple[float, Tensor]] = []
        for step in range(6):
            sgd.zero_grad()
            loss = plain_loss(before, {}, z, batch, task, slice(None))
            visited.append((loss.item(), z.detach().clone()))
            if step in steps:
                _, best = min(visited, key=lambda pair: pair[0])
                torch.testing.assert_close(states[steps.index(step)][task], best)
            loss.backward()
            sgd.step()
        assert visited[-1][0] < visited[0][0]
    for (name, a), b in zip(model.named_parameters(), make_model(spec).parameters(), strict=True):
        assert torch.equal(a, b), name
        assert a.grad is None


def test_kernels_are_for_the_first_order_alone() -> None:
    assert settings("first").allows_kernels
    assert not settings("second").allows_kernels
