"""A network for each task: B copies of the weights, run together.

`torch.func.vmap` turns each layer into one batched product over the tasks. It is around the forward pass
alone; gradients of any order are the ordinary ones.

Shapes: B tasks, N rows of each, S components of a task embedding, P numbers that are a task's own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from tam.methods.losses import task_losses
from tam.methods.search import Descent
from tam.models import Batch, Model

Weights = dict[str, Tensor]
"""Parameters by name, each `[B, …]`, and the task embeddings as `z`, `[B, S]`, where there are some."""

# How many numbers the states of tasks that are adapted together have at most. With Adam, the gradient and
# the states at each step count of a protocol it is some 25 times that: 7 GB.
_NUMBERS_AT_ONCE = 2**26
_EMBEDDINGS = ("task_embeddings", "unknown")  # known to a network as the z that it is given
_LOOKED_AT = ("x", "x_length", "y", "y_length", "classes", "primitives", "unknown")


def copies(model: Model, tasks: int, z: Tensor | None = None) -> Weights:
    """The model's weights for each of B tasks, and its embedding z `[B, S]` or `[1, S]` if it has one."""
    weights = {name: weight.expand(tasks, *weight.shape) for name, weight in _shared(model).items()}
    return weights if z is None else {"z": z.expand(tasks, -1), **weights}


def outcomes(model: Model, weights: Weights, batch: Batch) -> Tensor:
    """Log-probabilities of all answers, each task's by its own weights, as `Model.outcomes` gives them."""
    network = _Outcomes(model)
    looked_at = {name: getattr(batch, name) for name in _LOOKED_AT}
    rows = {name: value.unsqueeze(1) for name, value in looked_at.items() if value is not None}

    def one(weights: Mapping[str, Tensor], rows: Mapping[str, Any]) -> Tensor:
        own = {f"model.{name}": weight for name, weight in weights.items() if name != "z"}
        z = weights["z"].view(1, 1, -1) if "z" in weights else None
        return functional_call(network, own, (z, Batch(**rows)))

    return vmap(one)(weights, rows).squeeze(1)


def losses(model: Model, weights: Weights, batch: Batch) -> Tensor:
    """The loss of every task under its own weights, `[B]`."""
    return task_losses(outcomes(model, weights, batch), batch)


def start(model: Model, tasks: int, z: Tensor | None = None) -> Tensor:
    """Where fine-tuning starts: `copies` as one row for each task, `[B, P]`."""
    parts = copies(model, tasks, z).values()
    return torch.cat([part.flatten(1) for part in parts], dim=1).detach()


def fine_tune(search: Descent, model: Model, support: Batch, steps: Sequence[int]) -> list[Tensor]:
    """Search from a `start`: the weights with the lowest loss within each number of steps, `[B, P]`."""
    return search.follow(lambda rows: losses(model, from_rows(model, rows), support), steps)


def from_rows(model: Model, rows: Tensor) -> Weights:
    """The weights, and z if it is among them, of rows like those of `start`."""
    shapes = {name: weight.shape for name, weight in _shared(model).items()}
    if rows.shape[1] > _numbers(model):
        shapes = {"z": torch.Size([model.task_size]), **shapes}
    parts = rows.split([shape.numel() for shape in shapes.values()], dim=1)
    return {name: part.unflatten(1, shapes[name]) for name, part in zip(shapes, parts, strict=True)}


def tasks_at_once(model: Model) -> int:
    """How many tasks to fine-tune together, so that memory stays bounded."""
    return max(1, _NUMBERS_AT_ONCE // _numbers(model))


def _numbers(model: Model) -> int:
    """How many weights each task has of its own, besides z."""
    return sum(weight.numel() for weight in _shared(model).values())


def _shared(model: Model) -> dict[str, nn.Parameter]:
    return {name: weight for name, weight in model.named_parameters() if name not in _EMBEDDINGS}


class _Outcomes(nn.Module):
    """`Model.outcomes` as a module of its own: `functional_call` calls nothing but a module's `forward`."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, z: Tensor | None, batch: Batch) -> Tensor:
        return self.model.outcomes(self.model.condition(z, batch), batch)
