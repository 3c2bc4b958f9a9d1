"""The task-agnostic transformer against a plain loop: pooled loss, then Adam on a model for each task."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.methods import Agnostic
from tam.models import Batch, Model, ModelSpec

Make = Callable[..., Batch]
MakeModel = Callable[..., Model]
PlainLoss = Callable[..., Tensor]
ALL = slice(None)


def network(spec: ModelSpec) -> ModelSpec:
    return Agnostic().spec(replace(spec, conditioning="token"), 3)


def test_it_is_told_nothing_of_the_task(
    plain_spec: ModelSpec, compositional_spec: ModelSpec, make_model: MakeModel
) -> None:
    assert make_model(network(plain_spec)).task_size == 0
    assert network(replace(plain_spec, backbone="transformer")).conditioning == "none"
    with pytest.raises(ValueError, match="set use_primitives to False"):
        Agnostic().spec(compositional_spec, 3)
    with pytest.raises(ValueError, match="'norm' has no effect"):
        Agnostic().spec(replace(plain_spec, conditioning="norm"), 3)


def test_a_training_step_follows_the_pooled_loss(
    plain_spec: ModelSpec,
    make_model: MakeModel,
    make_batch: Make,
    plain_loss: PlainLoss,
    assert_same_gradients: Callable[[Model, Model], None],
) -> None:
    spec = network(plain_spec)
    model, reference, batch = make_model(spec), make_model(spec), make_batch(spec, 3, 4)
    counts: list[float] = []
    losses = Agnostic().training_step(model, batch, lambda n: counts.append(n.item()), 0)
    theta = dict(reference.named_parameters())
    expected = torch.stack([plain_loss(reference, theta, None, batch, task, ALL) for task in range(3)])
    expected.sum().backward()
    assert_same_gradients(model, reference)
    assert counts == [3]
    torch.testing.assert_close(losses.end, expected.mean().detach())


def test_adapting_is_adam_on_a_model_of_its_own(
    plain_spec: ModelSpec, make_model: MakeModel, make_batch: Make, plain_loss: PlainLoss
) -> None:
    spec, steps = network(plain_spec), (1, 4, 8)
    model, batch = make_model(spec), make_batch(spec, 3, 4)
    before = deepcopy(model)
    states = Agnostic().adapt(model, batch, steps, 0.03)
    for task in range(3):
        alone = make_model(spec)
        theta = dict(alone.named_parameters())
        adam = torch.optim.Adam(alone.parameters(), lr=0.03)
        visited: list[tuple[float, Tensor]] = []
        for step in range(9):
            adam.zero_grad()
            loss = plain_loss(alone, theta, None, batch, task, ALL)
            loss.backward()
            flat = torch.cat([parameter.detach().flatten() for parameter in alone.parameters()])
            visited.append((loss.item(), flat))
            if step in steps:
                _, best = min(visited, key=lambda pair: pair[0])
                torch.testing.assert_close(states[steps.index(step)][task], best)
            adam.step()
        assert visited[-1][0] < visited[0][0]
    for (name, a), b in zip(model.named_parameters(), before.parameters(), strict=True):
        assert torch.equal(a, b), name
        assert a.grad is None
