"""The work done in plain PyTorch, with a loop over tasks."""

from collections.abc import Callable
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from contenders.loss import gradients, loss_of
from contenders.problem import Problem, Step
from tam.models import Batch


def loop_step(optimiser: Callable[..., torch.optim.Optimizer]) -> Callable[[Problem], Step]:
    def prepare(p: Problem) -> Step:
        """Plain PyTorch: one task after another; `backward` sums the gradient of θ."""

        def step() -> list[Tensor]:
            p.model.zero_grad()
            for task in p.each(p.batch):
                z = p.model.blank(1).requires_grad_()
                inner = optimiser([z], lr=p.sizes.rate)
                (z.grad,) = torch.autograd.grad(loss_of(p.model, z, task), z)
                for _ in range(p.sizes.inner_steps):
                    inner.step()
                    z.grad = None
                    loss_of(p.model, z, task).backward()
            return gradients(p.model)

        return step

    return prepare


def loop_maml(p: Problem) -> Step:
    """Plain PyTorch: one task after another, by `functional_call` and `autograd.grad(create_graph=True)`."""
    start = dict(p.bare.named_parameters())

    def loss(weights: list[Tensor], task: Batch) -> Tensor:
        log_prob = functional_call(p.bare, dict(zip(start, weights, strict=True)), (None, task))
        return F.nll_loss(log_prob.flatten(0, 1), task.y.flatten())

    def step() -> list[Tensor]:
        p.bare.zero_grad()
        for support, query in p.episodes():
            fast: list[Tensor] = list(start.values())
            for _ in range(p.sizes.inner_steps):
                grads = torch.autograd.grad(loss(fast, support), fast, create_graph=True)
                fast = [weight - p.sizes.rate * grad for weight, grad in zip(fast, grads, strict=True)]
            loss(fast, query).backward()
        return gradients(p.bare)

    return step


def loop_cavia(p: Problem) -> Step:
    """Plain PyTorch: one task after another, by `autograd.grad(create_graph=True)`."""

    def step() -> list[Tensor]:
        p.model.zero_grad()
        for support, query in p.episodes():
            z = p.model.blank(1).requires_grad_()
            for _ in range(p.sizes.inner_steps):
                (grad,) = torch.autograd.grad(loss_of(p.model, z, support), z, create_graph=True)
                z = z - p.sizes.rate * grad
            loss_of(p.model, z, query).backward()
        return gradients(p.model)

    return step


def loop_adapt(p: Problem) -> Step:
    """Plain PyTorch: one task after another, on a frozen network."""
    model = deepcopy(p.model).requires_grad_(False)

    def step() -> list[Tensor]:
        embeddings: list[Tensor] = []
        for task in p.each(p.new):
            z = model.blank(1).requires_grad_()
            inner = torch.optim.Adam([z], lr=p.sizes.rate)
            for _ in range(p.sizes.inner_steps):
                inner.zero_grad()
                loss_of(model, z, task).backward()
                inner.step()
            embeddings.append(z.detach()[0])
        return embeddings

    return step
