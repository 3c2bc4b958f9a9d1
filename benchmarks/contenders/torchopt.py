"""The work done with TorchOpt.

Ren et al.: TorchOpt: An Efficient Library for Differentiable Optimization, JMLR 2023.
Shapes: S components of a task embedding.
"""

from collections.abc import Callable
from copy import deepcopy
from importlib import import_module

import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call, grad, vmap

from contenders.loss import Context, gradients, loss_of
from contenders.problem import Problem, Step
from tam.models import Batch, Model


def torchopt_tasks_step(p: Problem) -> Step:
    """TorchOpt's functional SGD: all work of one task, including its gradient of θ, under `vmap`."""
    torchopt = import_module("torchopt")
    optimiser = torchopt.sgd(lr=p.sizes.rate)
    weights, loss = functional(p.model, p.batch)

    def one_task(weights: dict[str, Tensor], x: Tensor, y: Tensor) -> dict[str, Tensor]:
        z = p.model.blank(1)
        state = optimiser.init((z,))
        found = grad(loss, argnums=1)(weights, z, x, y)
        total: dict[str, Tensor] | None = None
        for _ in range(p.sizes.inner_steps):
            updates, state = optimiser.update((found,), state, inplace=False)
            (z,) = torchopt.apply_updates((z,), updates, inplace=False)
            more, found = grad(loss, argnums=(0, 1))(weights, z, x, y)
            total = more if total is None else {name: total[name] + more[name] for name in more}
        assert total is not None
        return total

    def step() -> list[Tensor]:
        each = vmap(one_task, (None, 0, 0))(weights, p.batch.x, p.batch.y)
        return [gradient.sum(0) for gradient in each.values()]

    return step


def torchopt_losses_step(optimiser: str) -> Callable[[Problem], Step]:
    def prepare(p: Problem) -> Step:
        """TorchOpt's functional optimiser on all z together; only the losses are under `vmap`.

        So θ has one gradient, not one per task: the fastest way to use TorchOpt that we found.
        """
        torchopt = import_module("torchopt")
        inner = getattr(torchopt, optimiser)(lr=p.sizes.rate)
        weights, loss = functional(p.model, p.batch)

        def total(weights: dict[str, Tensor], z: Tensor) -> Tensor:
            return vmap(loss, (None, 0, 0, 0))(weights, z, p.batch.x, p.batch.y).sum()

        def step() -> list[Tensor]:
            z = p.model.blank(p.sizes.tasks).unsqueeze(1)
            state = inner.init((z,))
            found = grad(total, argnums=1)(weights, z)
            added: list[Tensor] | None = None
            for _ in range(p.sizes.inner_steps):
                updates, state = inner.update((found,), state, inplace=False)
                (z,) = torchopt.apply_updates((z,), updates, inplace=False)
                more, found = grad(total, argnums=(0, 1))(weights, z)
                new = list(more.values())
                added = new if added is None else [a + b for a, b in zip(added, new, strict=True)]
            assert added is not None
            return added

        return step

    return prepare


def torchopt_maml(p: Problem) -> Step:
    """TorchOpt's MetaSGD: update the network differentiably, then restore it for the next task."""
    torchopt = import_module("torchopt")
    model = deepcopy(p.bare)
    inner = torchopt.MetaSGD(model, lr=p.sizes.rate)
    start = torchopt.extract_state_dict(model, by="reference", detach_buffers=True)
    inner_start = torchopt.extract_state_dict(inner, by="copy")

    def step() -> list[Tensor]:
        model.zero_grad()
        for support, query in p.episodes():
            for _ in range(p.sizes.inner_steps):
                inner.step(loss_of(model, None, support))
            loss_of(model, None, query).backward()
            torchopt.recover_state_dict(model, start)
            torchopt.recover_state_dict(inner, inner_start)
        return gradients(model)

    return step


def torchopt_losses_maml(p: Problem) -> Step:
    """TorchOpt's functional SGD on the weights of all tasks together; only the losses are under `vmap`.

    If the gradients are under `vmap` too, torch's second derivatives are off by 2e-4.
    """
    torchopt = import_module("torchopt")
    inner = torchopt.sgd(lr=p.sizes.rate)
    weights, loss = functional(p.bare, p.support)

    def total(fast: dict[str, Tensor], task: Batch) -> Tensor:
        return vmap(loss, (0, None, 0, 0))(fast, None, task.x, task.y).sum()

    def after(weights: dict[str, Tensor]) -> Tensor:
        fast = {name: weight.expand(p.sizes.tasks, *weight.shape) for name, weight in weights.items()}
        state = inner.init(fast)
        for _ in range(p.sizes.inner_steps):
            updates, state = inner.update(grad(total)(fast, p.support), state, inplace=False)
            fast = torchopt.apply_updates(fast, updates, inplace=False)
        return total(fast, p.query)

    return lambda: list(grad(after)(weights).values())


def torchopt_cavia(p: Problem) -> Step:
    """TorchOpt's MetaSGD: update z differentiably, then restore it for the next task."""
    torchopt = import_module("torchopt")
    context = Context(p.model)
    inner = torchopt.MetaSGD(context, lr=p.sizes.rate)
    start = torchopt.extract_state_dict(context, by="reference")
    inner_start = torchopt.extract_state_dict(inner, by="copy")

    def step() -> list[Tensor]:
        p.model.zero_grad()
        for support, query in p.episodes():
            for _ in range(p.sizes.inner_steps):
                inner.step(loss_of(p.model, context.z, support))
            loss_of(p.model, context.z, query).backward()
            torchopt.recover_state_dict(context, start)
            torchopt.recover_state_dict(inner, inner_start)
        return gradients(p.model)

    return step


def torchopt_losses_cavia(p: Problem) -> Step:
    """TorchOpt's functional SGD on all z together; only the losses are under `vmap`."""
    torchopt = import_module("torchopt")
    inner = torchopt.sgd(lr=p.sizes.rate)
    weights, loss = functional(p.model, p.support)

    def total(weights: dict[str, Tensor], z: Tensor, task: Batch) -> Tensor:
        return vmap(loss, (None, 0, 0, 0))(weights, z, task.x, task.y).sum()

    def after(weights: dict[str, Tensor]) -> Tensor:
        z = p.model.blank(p.sizes.tasks).unsqueeze(1)
        state = inner.init((z,))
        for _ in range(p.sizes.inner_steps):
            found = grad(total, argnums=1)(weights, z, p.support)
            updates, state = inner.update((found,), state, inplace=False)
            (z,) = torchopt.apply_updates((z,), updates, inplace=False)
        return total(weights, z, p.query)

    return lambda: list(grad(after)(weights).values())


def functional(model: Model, batch: Batch) -> tuple[dict[str, Tensor], Callable[..., Tensor]]:
    """The weights, and the loss of one task as a function of the weights, z `[1, S]` and its examples."""
    weights = {name: weight.detach() for name, weight in model.named_parameters()}

    def loss(weights: dict[str, Tensor], z: Tensor | None, x: Tensor, y: Tensor) -> Tensor:
        task = Batch(x=x.unsqueeze(0), x_length=batch.x_length[:1], y=y.unsqueeze(0))
        log_prob = functional_call(model, weights, (None if z is None else z.unsqueeze(1), task))
        return F.nll_loss(log_prob.flatten(0, 1), y)

    return weights, loss
