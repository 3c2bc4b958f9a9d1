"""TAM adapts to a new task: z alone moves, and is that of the lowest support loss."""

import math

import torch

from tam.methods import TAM
from tam.models import ModelSpec
from tests.methods.algorithm_1 import losses_at, task_loss
from tests.methods.small import make_batch, make_model, some


def test_adapting_leaves_theta_alone(spec: ModelSpec) -> None:
    model, untouched = make_model(spec), make_model(spec)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    (states,) = TAM().adapt(model, make_batch(spec, 3, 5), [2], 0.1)
    with torch.no_grad():
        (again,) = TAM().adapt(model, make_batch(spec, 3, 5), [2], 0.1)
    assert states.ne(0).any()
    assert torch.equal(states, again), "no_grad around it changes nothing"
    for parameter, before in zip(model.parameters(), untouched.parameters(), strict=True):
        assert torch.equal(parameter, before)
        assert some(parameter.grad).eq(1).all()


def test_adapting_returns_the_embedding_of_lowest_support_loss(spec: ModelSpec) -> None:
    """Of all that are met: patience is for training."""
    model, batch, settings = make_model(spec), make_batch(spec, 4, 8, seed=1), TAM(patience=1)
    steps, rate = [1, 2, 4, 7, 16], 3.0 if spec.backbone == "lstm" else 1.5
    states = settings.adapt(model, batch, steps, rate)
    returned_early = went_on = False
    for task in range(4):
        z = torch.zeros(model.task_size, dtype=torch.float64, requires_grad=True)
        adam = torch.optim.Adam([z], lr=rate)
        best_z, best, worse = z.detach().clone(), math.inf, 0
        for step in range(max(steps) + 1):
            loss = task_loss(model, z, batch, task)
            if loss.item() < best:
                went_on |= worse > 0
                best_z, best = z.detach().clone(), loss.item()
            else:
                worse += 1
            if step in steps:
                torch.testing.assert_close(states[steps.index(step)][task], best_z)
                returned_early |= not torch.equal(best_z, z)
            (z.grad,) = torch.autograd.grad(loss, z)
            adam.step()
        torch.testing.assert_close(losses_at(model, states[-1], batch)[task].item(), best)
    assert returned_early
    assert went_on, "a task must improve again after a step that did not"
