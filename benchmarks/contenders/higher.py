"""The work done with `higher`.

Grefenstette et al.: Generalized Inner Loop Meta-Learning, arXiv 2019.
"""

from collections.abc import Sequence
from importlib import import_module

import torch
from torch import Tensor

from contenders.loss import Context, gradients, loss_of
from contenders.problem import Problem, Step
from tam.models import Batch, Model


def higher_step(p: Problem) -> Step:
    """`higher`, without higher gradients: one task after another; a callback sums the gradient of θ.

    At each step, `higher` differentiates all weights of the network. The network holds z, and the optimiser
    updates only z, so one backward pass gives both gradients.
    """
    higher = import_module("higher")
    network = Prompted(p.model)
    inner = torch.optim.SGD([network.z], lr=p.sizes.rate)

    def step() -> list[Tensor]:
        total = [torch.zeros_like(weight) for weight in p.weights]

        def collect(grads: Sequence[Tensor]) -> Sequence[Tensor]:
            for place, gradient in zip(total, grads[1:], strict=True):
                place.add_(gradient)
            return grads

        for task in p.each(p.batch):
            with higher.innerloop_ctx(network, inner, track_higher_grads=False) as (copy, differentiable):
                differentiable.step(copy(task))  # from z = 0, where θ does not learn
                for _ in range(p.sizes.inner_steps):
                    differentiable.step(copy(task), grad_callback=collect)
        return total

    return step


def higher_maml(p: Problem) -> Step:
    """`higher`: a differentiable copy of the network for each task, one after another."""
    higher = import_module("higher")
    inner = torch.optim.SGD(p.bare.parameters(), lr=p.sizes.rate)

    def step() -> list[Tensor]:
        p.bare.zero_grad()
        for support, query in p.episodes():
            with higher.innerloop_ctx(p.bare, inner, copy_initial_weights=False) as (copy, differentiable):
                for _ in range(p.sizes.inner_steps):
                    differentiable.step(loss_of(copy, None, support))
                loss_of(copy, None, query).backward()
        return gradients(p.bare)

    return step


def higher_cavia(p: Problem) -> Step:
    """`higher`: a differentiable copy of z for each task, one after another."""
    higher = import_module("higher")
    context = Context(p.model)
    inner = torch.optim.SGD(context.parameters(), lr=p.sizes.rate)

    def step() -> list[Tensor]:
        p.model.zero_grad()
        for support, query in p.episodes():
            with higher.innerloop_ctx(context, inner) as (copy, differentiable):
                for _ in range(p.sizes.inner_steps):
                    differentiable.step(loss_of(p.model, copy.z, support))
                loss_of(p.model, copy.z, query).backward()
        return gradients(p.model)

    return step


class Prompted(Context):
    """The network with a task's embedding as an additional first parameter."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.model = model

    def forward(self, task: Batch) -> Tensor:
        return loss_of(self.model, self.z, task)
