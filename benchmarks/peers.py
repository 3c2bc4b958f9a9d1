"""One meta-step on a CPU, through tam and through the libraries that people use instead.

Install the extra `peers`, then run `.venv/bin/python benchmarks/peers.py`; it writes results/peers.json.

All contenders have the same network, the same examples and one thread. They run in turn, round after
round, so that a busy machine slows all of them. Times are of the processor, which with one thread are
those of the clock on a quiet machine; the clock's are written too. A meta-step here ends with the
gradient of θ: what an optimiser then does with it is the same for all. Before the clock starts,
contenders that compute the same thing are compared, in double precision: their results must agree.

Shapes: B tasks, N rows of each (in second order N of the support and N of the query), S components of a task
embedding.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from tam.methods import CAVIA, MAML, TAM, Method
from tam.models import Batch, Model, ModelSpec, build_model
from tam.provenance import provenance
from tam.report.table import table

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "results" / "peers.json"
PEERS = ("higher", "torchopt", "peft")

ROUNDS = 15
ALIKE = 1e-5
"""How far two results that should be equal may differ, beside the largest number in them."""

Facts = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """How large the problem is."""

    layers: int = 2
    width: int = 64
    heads: int = 4
    vocabulary: int = 12
    classes: int = 4
    tasks: int = 16
    rows: int = 8
    tokens: int = 10
    inner_steps: int = 5
    new_tasks: int = 64
    """Tasks that are adapted to, when that is all that is timed."""
    rate: float = 0.01
    """Of the inner steps; so small that each lowers every loss, and the best embedding is the last."""

    @property
    def spec(self) -> ModelSpec:
        return ModelSpec(
            kind="classification",
            vocabulary=self.vocabulary,
            classes=self.classes,
            max_x=self.tokens,
            layers=self.layers,
            width=self.width,
            heads=self.heads,
        )


@dataclass(frozen=True)
class Problem:
    """What every contender is given.

    Attributes:
        sizes: How large it is.
        model: The network, conditioned on a task embedding.
        bare: The network without one, for MAML.
        batch: Tasks with N rows each.
        split: Tasks with 2 N rows each, for second order: N of the support, then N of the query.
        new: The tasks that are adapted to.
    """

    sizes: Sizes
    model: Model
    bare: Model
    batch: Batch
    split: Batch
    new: Batch

    @property
    def weights(self) -> list[nn.Parameter]:
        """The parameters θ."""
        return list(self.model.parameters())

    @property
    def support(self) -> Batch:
        """What the tasks of `split` are learned from."""
        return self.split.cut(slice(self.sizes.rows))

    @property
    def query(self) -> Batch:
        """What they are then asked."""
        return self.split.cut(slice(self.sizes.rows, None))

    def episodes(self) -> Iterator[tuple[Batch, Batch]]:
        """Support and query of the tasks of `split`, one by one."""
        return zip(self.each(self.support), self.each(self.query), strict=True)

    def each(self, batch: Batch) -> Iterator[Batch]:
        """The tasks of a batch, one by one."""
        return (batch.part(slice(place, place + 1)) for place in range(batch.tasks))

    def in_double(self) -> "Problem":
        """The same in double precision."""
        return replace(self, model=deepcopy(self.model).double(), bare=deepcopy(self.bare).double())


Step = Callable[[], list[Tensor]]
"""One meta-step, or one adaptation; returns θ's gradient, or the task embeddings."""


@dataclass(frozen=True)
class Contender:
    """A way to do the work.

    Attributes:
        name: What it is called in the tables.
        group: What it is timed beside: "first order", "second order" or "adaptation".
        prepare: Makes its step; what it does here is not timed. Its docstring says what the step does.
        result: Contenders with the same word compute the same thing.
    """

    name: str
    group: str
    prepare: Callable[[Problem], Step]
    result: str | None = None


def problem(sizes: Sizes) -> Problem:
    """Random weights and random examples; nothing is zero that would not be in training."""
    generator = torch.Generator().manual_seed(0)

    def examples(tasks: int, rows: int) -> Batch:
        shape = (tasks, rows)
        return Batch(
            x=torch.randint(sizes.vocabulary, (*shape, sizes.tokens), generator=generator),
            x_length=torch.full(shape, sizes.tokens),
            y=torch.randint(sizes.classes, shape, generator=generator),
            task=torch.arange(tasks),
            chance=torch.rand(tasks, 2, generator=generator),
        )

    return Problem(
        sizes,
        model=build_model(sizes.spec, generator),
        batch=examples(sizes.tasks, sizes.rows),
        new=examples(sizes.new_tasks, sizes.rows),
        bare=build_model(sizes.spec.without_embedding(), generator),
        split=examples(sizes.tasks, 2 * sizes.rows),
    )


# ── Shared weights and an embedding for each task, first order ────────────────────────────────────
# The gradient of θ is summed over the tasks and over the embeddings z₁ … z_T that the inner steps reach.


def tam_step(p: Problem) -> Step:
    """TAM's training step: the tasks are rows of one batch, and one backward pass serves all z and θ."""
    return method_step("tam", p)


def method_step(name: str, p: Problem) -> Step:
    """The training step of one of tam's methods."""
    method, model, batch = setup(name, p)

    def step() -> list[Tensor]:
        for weight in model.parameters():
            weight.grad = None
        method.training_step(model, batch, lambda _: None, 0)
        return gradients(model)

    return step


def setup(name: str, p: Problem) -> tuple[Method, Model, Batch]:
    """One of tam's methods with the problem's inner steps, the network that it needs, and its examples."""
    inner: Facts = {"inner_steps": p.sizes.inner_steps, "inner_rate": p.sizes.rate}
    if name == "tam":
        return TAM(**inner, patience=None), p.model, p.batch
    inner["support_sizes"] = (p.sizes.rows, p.sizes.rows)
    return (MAML(**inner), p.bare, p.split) if name == "maml" else (CAVIA(**inner), p.model, p.split)


def loop_step(optimiser: Callable[..., torch.optim.Optimizer]) -> Callable[[Problem], Step]:
    def prepare(p: Problem) -> Step:
        """Plain PyTorch: one task after another, `backward` adding up the gradient of θ."""

        def step() -> list[Tensor]:
            for weight in p.weights:
                weight.grad = None
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


def higher_step(p: Problem) -> Step:
    """`higher`, without higher gradients: one task after another; a callback adds up the gradient of θ.

    `higher` differentiates in all weights of the network at each of its steps. The network holds z, and
    the optimiser moves z alone, so one backward pass gives both.
    """
    higher = import_module("higher")
    network = Prompted(p.model)
    inner = torch.optim.SGD([network.z], lr=p.sizes.rate)

    def step() -> list[Tensor]:
        total = [torch.zeros_like(weight) for weight in p.weights]

        def collect(found: Sequence[Tensor]) -> Sequence[Tensor]:
            for place, gradient in zip(total, found[1:], strict=True):
                place.add_(gradient)
            return found

        for task in p.each(p.batch):
            with higher.innerloop_ctx(network, inner, track_higher_grads=False) as (copy, differentiable):
                differentiable.step(copy(task))  # from z = 0, where θ learns nothing
                for _ in range(p.sizes.inner_steps):
                    differentiable.step(copy(task), grad_callback=collect)
        return total

    return step


def torchopt_tasks_step(p: Problem) -> Step:
    """TorchOpt's functional SGD: what is done for one task, its gradient of θ included, under `vmap`."""
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
        """TorchOpt's functional optimiser on all z at once; only the losses are under `vmap`.

        So θ has one gradient, not one for each task: the fastest way to use TorchOpt that we found.
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


# ── All weights for each task, second order (MAML) ────────────────────────────────────────────────
# The gradient of the query loss after the inner steps on the support, through them, summed over the tasks.


def tam_maml(p: Problem) -> Step:
    """Tam's MAML: the tasks' weights side by side, one pass for all tasks."""
    return method_step("maml", p)


def loop_maml(p: Problem) -> Step:
    """Plain PyTorch: one task after another, by `functional_call` and `autograd.grad` with a graph."""
    start = dict(p.bare.named_parameters())

    def loss(weights: list[Tensor], task: Batch) -> Tensor:
        log_prob = functional_call(p.bare, dict(zip(start, weights, strict=True)), (None, task))
        return F.nll_loss(log_prob.flatten(0, 1), task.y.flatten())

    def step() -> list[Tensor]:
        for weight in start.values():
            weight.grad = None
        for support, query in p.episodes():
            fast: list[Tensor] = list(start.values())
            for _ in range(p.sizes.inner_steps):
                found = torch.autograd.grad(loss(fast, support), fast, create_graph=True)
                fast = [weight - p.sizes.rate * change for weight, change in zip(fast, found, strict=True)]
            loss(fast, query).backward()
        return gradients(p.bare)

    return step


def higher_maml(p: Problem) -> Step:
    """`higher`: a differentiable copy of the network for each task, one after another."""
    higher = import_module("higher")
    weights = list(p.bare.parameters())
    inner = torch.optim.SGD(weights, lr=p.sizes.rate)

    def step() -> list[Tensor]:
        for weight in weights:
            weight.grad = None
        for support, query in p.episodes():
            with higher.innerloop_ctx(p.bare, inner, copy_initial_weights=False) as (copy, differentiable):
                for _ in range(p.sizes.inner_steps):
                    differentiable.step(loss_of(copy, None, support))
                loss_of(copy, None, query).backward()
        return gradients(p.bare)

    return step


def torchopt_maml(p: Problem) -> Step:
    """TorchOpt's MetaSGD: the network is moved, differentiably, and set back for the next task."""
    torchopt = import_module("torchopt")
    model = deepcopy(p.bare)
    weights = list(model.parameters())
    inner = torchopt.MetaSGD(model, lr=p.sizes.rate)
    start = torchopt.extract_state_dict(model, by="reference", detach_buffers=True)
    inner_start = torchopt.extract_state_dict(inner, by="copy")

    def step() -> list[Tensor]:
        for weight in weights:
            weight.grad = None
        for support, query in p.episodes():
            for _ in range(p.sizes.inner_steps):
                inner.step(loss_of(model, None, support))
            loss_of(model, None, query).backward()
            torchopt.recover_state_dict(model, start)
            torchopt.recover_state_dict(inner, inner_start)
        return gradients(model)

    return step


def torchopt_losses_maml(p: Problem) -> Step:
    """TorchOpt's functional SGD on all tasks' weights at once; only the losses are under `vmap`.

    With the gradients under `vmap` too, torch's second derivatives are off by 2e-4.
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


# ── An embedding for each task, second order (CAVIA) ──────────────────────────────────────────────
# As for MAML, but the inner steps move z alone. Peers are given z alone: they differentiate in nothing else.


def tam_cavia(p: Problem) -> Step:
    """Tam's CAVIA: the tasks are rows of one batch."""
    return method_step("cavia", p)


def loop_cavia(p: Problem) -> Step:
    """Plain PyTorch: one task after another, by `autograd.grad` with a graph."""

    def step() -> list[Tensor]:
        for weight in p.weights:
            weight.grad = None
        for support, query in p.episodes():
            z = p.model.blank(1).requires_grad_()
            for _ in range(p.sizes.inner_steps):
                (found,) = torch.autograd.grad(loss_of(p.model, z, support), z, create_graph=True)
                z = z - p.sizes.rate * found
            loss_of(p.model, z, query).backward()
        return gradients(p.model)

    return step


def higher_cavia(p: Problem) -> Step:
    """`higher`: a differentiable copy of z for each task, one after another."""
    higher = import_module("higher")
    context = Context(p.model)
    inner = torch.optim.SGD(context.parameters(), lr=p.sizes.rate)

    def step() -> list[Tensor]:
        for weight in p.weights:
            weight.grad = None
        for support, query in p.episodes():
            with higher.innerloop_ctx(context, inner) as (copy, differentiable):
                for _ in range(p.sizes.inner_steps):
                    differentiable.step(loss_of(p.model, copy.z, support))
                loss_of(p.model, copy.z, query).backward()
        return gradients(p.model)

    return step


def torchopt_cavia(p: Problem) -> Step:
    """TorchOpt's MetaSGD: z is moved, differentiably, and set back for the next task."""
    torchopt = import_module("torchopt")
    context = Context(p.model)
    inner = torchopt.MetaSGD(context, lr=p.sizes.rate)
    start = torchopt.extract_state_dict(context, by="reference")
    inner_start = torchopt.extract_state_dict(inner, by="copy")

    def step() -> list[Tensor]:
        for weight in p.weights:
            weight.grad = None
        for support, query in p.episodes():
            for _ in range(p.sizes.inner_steps):
                inner.step(loss_of(p.model, context.z, support))
            loss_of(p.model, context.z, query).backward()
            torchopt.recover_state_dict(context, start)
            torchopt.recover_state_dict(inner, inner_start)
        return gradients(p.model)

    return step


def torchopt_losses_cavia(p: Problem) -> Step:
    """TorchOpt's functional SGD on all z at once; only the losses are under `vmap`."""
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


# ── Adaptation alone: an embedding for each new task, θ frozen ────────────────────────────────────


def tam_adapt(p: Problem) -> Step:
    """TAM's adaptation: all tasks together."""
    method = TAM(patience=None)
    return lambda: [*method.adapt(p.model, p.new, [p.sizes.inner_steps], p.sizes.rate)[0]]


def loop_adapt(p: Problem) -> Step:
    """Plain PyTorch: one task after another, on a frozen network."""
    model = deepcopy(p.model).requires_grad_(False)

    def step() -> list[Tensor]:
        found: list[Tensor] = []
        for task in p.each(p.new):
            z = model.blank(1).requires_grad_()
            inner = torch.optim.Adam([z], lr=p.sizes.rate)
            for _ in range(p.sizes.inner_steps):
                inner.zero_grad()
                loss_of(model, z, task).backward()
                inner.step()
            found.append(z.detach()[0])
        return found

    return step


def peft_adapt(p: Problem) -> Step:
    """PEFT's prompt tuning: one adapter of one virtual token a task, one after another, on the same network.

    The network is tam's, with the token embeddings where PEFT looks for them, so that both adapt the same
    vector at the same place. Adapters are made before the clock starts and set to zero after. The network
    gets no mask, which spares PEFT some work that tam does.
    """
    peft = import_module("peft")
    network = PromptNetwork(deepcopy(p.model))
    config = peft.PromptTuningConfig(
        task_type="FEATURE_EXTRACTION",
        num_virtual_tokens=1,
        token_dim=p.sizes.width,
        num_layers=p.sizes.layers,
        num_attention_heads=p.sizes.heads,
    )
    names = [f"task{place}" for place in range(p.sizes.new_tasks)]
    model = peft.get_peft_model(network, config, adapter_name=names[0])
    for name in names[1:]:
        model.add_adapter(name, config)
    model.to(next(p.model.parameters()).dtype)

    def step() -> list[Tensor]:
        found: list[Tensor] = []
        for name, x, y in zip(names, p.new.x, p.new.y, strict=True):
            model.set_adapter(name)
            prompt = model.prompt_encoder[name].embedding.weight
            with torch.no_grad():
                prompt.zero_()
            inner = torch.optim.Adam([prompt], lr=p.sizes.rate)
            for _ in range(p.sizes.inner_steps):
                inner.zero_grad()
                F.cross_entropy(model(input_ids=x), y).backward()
                inner.step()
            found.append(prompt.detach()[0].clone())
        return found

    return step


# ── What contenders share ─────────────────────────────────────────────────────────────────────────


class Prompted(nn.Module):
    """The network with the embedding of a task as one more parameter, the first."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.z = nn.Parameter(model.blank(1))
        self.model = model

    def forward(self, task: Batch) -> Tensor:
        return loss_of(self.model, self.z, task)


class Context(nn.Module):
    """The embedding of a task as the only parameter."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.z = nn.Parameter(model.blank(1))


class PromptNetwork(nn.Module):
    """The network as PEFT wants it: from embedded tokens, the prompt before them, to logits."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model
        self.config = {"model_type": "custom"}
        self.embeddings = nn.Module()
        self.embeddings.word_embeddings = nn.Embedding.from_pretrained(model.x.token.detach(), freeze=False)

    @property
    def device(self) -> torch.device:
        return self.model.x.token.device

    def forward(self, inputs_embeds: Tensor, **_: object) -> Tensor:
        model = self.model
        places = torch.cat([model.places, model.x.position[: inputs_embeds.shape[1] - 1]])
        return model.head(model.backbone(inputs_embeds + places, read=slice(0, 1)).squeeze(1))


def loss_of(model: nn.Module, z: Tensor | None, task: Batch) -> Tensor:
    """The loss of one task at z, `[1, S]`, if the model has one."""
    log_prob = model(None if z is None else z.unsqueeze(1), task)
    return F.nll_loss(log_prob.flatten(0, 1), task.y.flatten())


def functional(model: Model, batch: Batch) -> tuple[dict[str, Tensor], Callable[..., Tensor]]:
    """The weights, and the loss of one task as a function of them, of z `[1, S]` and of its examples."""
    weights = {name: weight.detach() for name, weight in model.named_parameters()}

    def loss(weights: dict[str, Tensor], z: Tensor | None, x: Tensor, y: Tensor) -> Tensor:
        task = Batch(x=x.unsqueeze(0), x_length=batch.x_length[:1], y=y.unsqueeze(0))
        log_prob = functional_call(model, weights, (None if z is None else z.unsqueeze(1), task))
        return F.nll_loss(log_prob.flatten(0, 1), y)

    return weights, loss


def gradients(model: nn.Module) -> list[Tensor]:
    """The gradient of θ that `backward` has added up."""
    return [weight.grad for weight in model.parameters() if weight.grad is not None]


CONTENDERS = (
    Contender("tam: TAM", "first order", tam_step, "embedding, Adam"),
    Contender("loop over tasks, Adam", "first order", loop_step(torch.optim.Adam), "embedding, Adam"),
    Contender("loop over tasks, SGD", "first order", loop_step(torch.optim.SGD), "embedding, SGD"),
    Contender("higher, loop over tasks, SGD", "first order", higher_step, "embedding, SGD"),
    Contender("TorchOpt SGD, tasks under vmap", "first order", torchopt_tasks_step, "embedding, SGD"),
    Contender(
        "TorchOpt SGD, losses under vmap", "first order", torchopt_losses_step("sgd"), "embedding, SGD"
    ),
    Contender(
        "TorchOpt Adam, losses under vmap", "first order", torchopt_losses_step("adam"), "embedding, Adam"
    ),
    Contender("tam: MAML", "second order", tam_maml, "MAML"),
    Contender("loop over tasks, MAML", "second order", loop_maml, "MAML"),
    Contender("higher, MAML", "second order", higher_maml, "MAML"),
    Contender("TorchOpt MetaSGD, MAML", "second order", torchopt_maml, "MAML"),
    Contender("TorchOpt SGD, losses under vmap, MAML", "second order", torchopt_losses_maml, "MAML"),
    Contender("tam: CAVIA", "second order", tam_cavia, "CAVIA"),
    Contender("loop over tasks, CAVIA", "second order", loop_cavia, "CAVIA"),
    Contender("higher, CAVIA", "second order", higher_cavia, "CAVIA"),
    Contender("TorchOpt MetaSGD, CAVIA", "second order", torchopt_cavia, "CAVIA"),
    Contender("TorchOpt SGD, losses under vmap, CAVIA", "second order", torchopt_losses_cavia, "CAVIA"),
    Contender("tam: adapt", "adaptation", tam_adapt, "adaptation"),
    Contender("loop over tasks, adaptation", "adaptation", loop_adapt, "adaptation"),
    Contender("PEFT prompt tuning, an adapter a task", "adaptation", peft_adapt, "adaptation"),
)


@dataclass(frozen=True)
class Bar:
    """How much faster one contender must be than others."""

    ours: str
    others: tuple[str, ...]
    must: float
    aim: float | None = None


MAML_PEERS = (
    "loop over tasks, MAML",
    "higher, MAML",
    "TorchOpt MetaSGD, MAML",
    "TorchOpt SGD, losses under vmap, MAML",
)
BARS = (
    Bar(
        "tam: TAM",
        (
            "TorchOpt SGD, losses under vmap",
            "TorchOpt Adam, losses under vmap",
            "TorchOpt SGD, tasks under vmap",
        ),
        1.2,
    ),
    Bar("tam: TAM", ("loop over tasks, Adam", "loop over tasks, SGD", "higher, loop over tasks, SGD"), 2.0),
    Bar("tam: TAM", MAML_PEERS, 6.0),
    Bar("tam: MAML", MAML_PEERS, 1.5),
    Bar(
        "tam: CAVIA",
        (
            "loop over tasks, CAVIA",
            "higher, CAVIA",
            "TorchOpt MetaSGD, CAVIA",
            "TorchOpt SGD, losses under vmap, CAVIA",
        ),
        1.5,
    ),
    Bar("tam: adapt", ("PEFT prompt tuning, an adapter a task", "loop over tasks, adaptation"), 3.0, 10.0),
)


# ── The measurement ───────────────────────────────────────────────────────────────────────────────


def measure(sizes: Sizes, rounds: int, contenders: Sequence[Contender] = CONTENDERS) -> list[Facts]:
    """A row for each contender: how long it takes, and how far its result is from the first of its kind."""
    given = problem(sizes)
    rows: list[Facts] = []
    steps: dict[str, Step] = {}
    firsts: dict[str, tuple[str, list[Tensor]]] = {}
    for contender in contenders:
        row: Facts = {
            "name": contender.name,
            "group": contender.group,
            "what": (contender.prepare.__doc__ or "").partition("\n")[0],
        }
        try:
            exact = contender.prepare(given.in_double())()
            step = contender.prepare(given)
            step()
        except Exception as error:
            # A peer that cannot run is a row that says why. Ours must run.
            if contender.name.startswith(("tam: ", "loop")):
                raise
            row["error"] = reason(error)
        else:
            steps[contender.name] = step
            if contender.result is not None:
                first, expected = firsts.setdefault(contender.result, (contender.name, exact))
                row |= {"same_as": first, "difference": distance(exact, expected)}
        rows.append(row)
    times = time_in_turn(steps, rounds)
    for row in rows:
        if row["name"] in times:
            taken = sorted(each.processor for each in times[row["name"]])
            row |= {
                "ms": round(statistics.median(taken), 2),
                "fastest_ms": round(taken[0], 2),
                "slowest_ms": round(taken[-1], 2),
                "clock_ms": round(statistics.median(each.clock for each in times[row["name"]]), 2),
            }
    return rows


def reason(error: Exception) -> str:
    """Why a contender did not run, in a line."""
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed"
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def distance(found: list[Tensor], expected: list[Tensor]) -> float:
    """The largest difference of two results, beside the largest number of the second."""
    if [value.shape for value in found] != [value.shape for value in expected]:
        raise ValueError("two results that should be the same have different shapes")
    pairs = list(zip(found, expected, strict=True))
    return max(float((a - b).abs().max()) for a, b in pairs) / max(float(b.abs().max()) for _, b in pairs)


class Milliseconds(NamedTuple):
    """How long something took."""

    processor: float
    clock: float


def time_in_turn(steps: dict[str, Step], rounds: int) -> dict[str, list[Milliseconds]]:
    """The times of every contender in every round; in a round each runs once."""
    times: dict[str, list[Milliseconds]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            clock, processor = time.perf_counter(), time.process_time()
            step()
            processor, clock = time.process_time() - processor, time.perf_counter() - clock
            times[name].append(Milliseconds(1e3 * processor, 1e3 * clock))
    return times


def ratios(rows: list[Facts]) -> list[Facts]:
    """How much faster ours are than what they are measured against, with what is asked for."""
    times = {row["name"]: row["ms"] for row in rows if "ms" in row}
    return [
        {
            "ours": bar.ours,
            "other": other,
            "ratio": round(times[other] / times[bar.ours], 2) if other in times else None,
            "must": bar.must,
            "aim": bar.aim,
        }
        for bar in BARS
        for other in bar.others
    ]


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter).parse_args()
    torch.set_num_threads(1)
    sizes = Sizes()
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    rows = measure(sizes, ROUNDS)
    found = ratios(rows)
    print(table(["", "ms", "range", ""], [shown(row) for row in rows]))
    print()
    for one in found:
        print(f"{one['ours']} over {one['other']}: {verdict(one)}")
    facts: Facts = {
        "what": "a meta-step and an adaptation on a CPU, through tam and through other libraries",
        "command": "python benchmarks/peers.py",
        **provenance(),
        "started": started,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("torch", *PEERS)},
        "threads": torch.get_num_threads(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "sizes": asdict(sizes),
        "rounds": ROUNDS,
        "contenders": rows,
        "ratios": found,
    }
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    print(f"\nwritten to {FILE.relative_to(ROOT)}")
    unequal = [row["name"] for row in rows if row.get("difference", 0) > ALIKE]
    if unequal:
        sys.exit(f"not the same results: {', '.join(unequal)}")


def shown(row: Facts) -> list[object]:
    """A row of the printed table."""
    if "error" in row:
        return [row["name"], "–", "", row["error"]]
    same = row.get("same_as", row["name"])
    note = "" if same == row["name"] else f"same result as {same}, to {row['difference']:.0e}"
    return [row["name"], f"{row['ms']:.1f}", f"{row['fastest_ms']:.1f} … {row['slowest_ms']:.1f}", note]


def verdict(one: Facts) -> str:
    """A ratio with its bar."""
    if one["ratio"] is None:
        return "not measured"
    aim = "" if one["aim"] is None else f", aim {one['aim']:g}×"
    missed = "" if one["ratio"] >= one["must"] else ": missed"
    return f"{one['ratio']:.2f}×, must be {one['must']:g}×{aim}{missed}"


def version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
