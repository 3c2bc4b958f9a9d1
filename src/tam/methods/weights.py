"""One network per task: B copies of the weights, run together.

`torch.func.vmap` turns each layer into one batched product over the tasks. It wraps only the forward pass;
gradients of any order use ordinary autograd.

Shapes: B tasks, N rows per task, S components of a task embedding, P fine-tuned numbers per task.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from tam.methods.losses import task_losses
from tam.methods.method import Method, Rate, TaskStates
from tam.methods.search import Descent
from tam.models import Batch, Model

Weights = dict[str, Tensor]
"""Parameters by name, each `[B, …]`, and the task embeddings, if any, as `z`, `[B, S]`."""

# Most numbers in the states of tasks adapted together. With Adam, the gradient and the states after each of a
# protocol's numbers of steps, memory is about 25 times that: 7 GB.
_NUMBERS_AT_ONCE = 2**26
_EMBEDDINGS = ("task_embeddings", "unknown")  # passed to the network as z


def copies(model: Model, tasks: int, z: Tensor | None) -> Weights:
    """The model's weights for each of B tasks, with the embedding z, `[B, S]` or `[1, S]`, if given."""
    weights = {name: weight.expand(tasks, *weight.shape) for name, weight in _shared(model).items()}
    return weights if z is None else {"z": z.expand(tasks, -1), **weights}


def outcomes(model: Model, weights: Weights, batch: Batch) -> Tensor:
    """`Model.outcomes`, each task's under its own weights."""
    network = _Outcomes(model)
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    rows = {name: value.unsqueeze(1) for name, value in values.items() if isinstance(value, Tensor)}

    def one(weights: Mapping[str, Tensor], rows: Mapping[str, Any]) -> Tensor:
        own = {f"model.{name}": weight for name, weight in weights.items() if name != "z"}
        z = weights["z"].view(1, 1, -1) if "z" in weights else None
        return functional_call(network, own, (z, Batch(**rows)))

    return vmap(one)(weights, rows).squeeze(1)


def losses(model: Model, weights: Weights, batch: Batch) -> Tensor:
    """The loss of every task under its own weights, `[B]`."""
    return task_losses(outcomes(model, weights, batch), batch)


def start_rows(model: Model, tasks: int, z: Tensor | None = None) -> Tensor:
    """The start of fine-tuning: `copies` as one row per task, `[B, P]`."""
    parts = copies(model, tasks, z).values()
    return torch.cat([part.flatten(1) for part in parts], dim=1).detach()


def fine_tune(
    search: type[Descent],
    model: Model,
    support: Batch,
    steps: Sequence[int],
    rate: Rate,
    z: Tensor | None = None,
) -> list[Tensor]:
    """Search from `start_rows`: the weights with the lowest loss within each number of steps, `[B, P]`."""
    start = start_rows(model, support.tasks, z)
    return search(start, rate).follow(lambda rows: losses(model, from_rows(model, rows), support), steps)


def from_rows(model: Model, rows: Tensor) -> Weights:
    """Unpack rows like those of `start_rows` into weights, and z if they contain it."""
    shapes = {name: weight.shape for name, weight in _shared(model).items()}
    if rows.shape[1] > _numbers(model):
        shapes = {"z": torch.Size([model.task_size]), **shapes}
    parts = rows.split([shape.numel() for shape in shapes.values()], dim=1)
    return {name: part.unflatten(1, shapes[name]) for name, part in zip(shapes, parts, strict=True)}


def _numbers(model: Model) -> int:
    """The number of weights per task, without z."""
    return sum(weight.numel() for weight in _shared(model).values())


def _shared(model: Model) -> dict[str, nn.Parameter]:
    return {name: weight for name, weight in model.named_parameters() if name not in _EMBEDDINGS}


class OwnWeights(Method):
    """A method whose task states are weights, `[B, P]`."""

    def at_once(self, model: Model) -> int | None:
        """Bounded, since each task has its own weights."""
        return max(1, _NUMBERS_AT_ONCE // _numbers(model))

    def outcomes(self, model: Model, states: TaskStates, batch: Batch) -> Tensor:
        """Log p(· | x; θ), each task with its own θ."""
        return outcomes(model, from_rows(model, states), batch)


class _Outcomes(nn.Module):
    """`Model.outcomes` as a module, because `functional_call` only calls a module's `forward`."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, z: Tensor | None, batch: Batch) -> Tensor:
        return self.model.outcomes(self.model.condition(z, batch), batch)
