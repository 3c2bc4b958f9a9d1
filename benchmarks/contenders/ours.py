"""The work done with tam."""

from typing import Any

from torch import Tensor

from contenders.loss import gradients
from contenders.problem import Problem, Step
from tam.methods import CAVIA, MAML, TAM, Method
from tam.models import Batch, Model


def tam_step(p: Problem) -> Step:
    """TAM's training step: the tasks are rows of one batch, and one backward pass serves all z and θ."""
    return method_step("tam", p)


def tam_maml(p: Problem) -> Step:
    """Tam's MAML: one pass for all tasks, with their weights in batched tensors."""
    return method_step("maml", p)


def tam_cavia(p: Problem) -> Step:
    """Tam's CAVIA: the tasks are rows of one batch."""
    return method_step("cavia", p)


def tam_adapt(p: Problem) -> Step:
    """TAM's adaptation: all tasks together."""
    method = TAM(patience=None)
    return lambda: [*method.adapt(p.model, p.new, [p.sizes.inner_steps], p.sizes.rate)[0]]


def method_step(name: str, p: Problem) -> Step:
    """The training step of one of tam's methods."""
    method, model, batch = setup(name, p)

    def step() -> list[Tensor]:
        model.zero_grad()
        method.training_step(model, batch, lambda _: None, 0)
        return gradients(model)

    return step


def setup(name: str, p: Problem) -> tuple[Method, Model, Batch]:
    """One of tam's methods with the problem's inner steps, its network, and its examples."""
    inner: dict[str, Any] = {"inner_steps": p.sizes.inner_steps, "inner_rate": p.sizes.rate}
    if name == "tam":
        return TAM(**inner, patience=None), p.model, p.batch
    inner["support_sizes"] = (p.sizes.rows, p.sizes.rows)
    return (MAML(**inner), p.bare, p.split) if name == "maml" else (CAVIA(**inner), p.model, p.split)
