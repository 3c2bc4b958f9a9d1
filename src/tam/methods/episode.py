"""Episodes: the rows of a training batch as a support and queries to it, as at test time.

Everything is a tensor of a fixed shape, and nothing is read back to Python. A class that has fewer rows in
the batch than the support asks for gives all that it has; the places that stay empty are marked in
`Batch.present`. So every query's class is in its support.

Shapes: B tasks, N rows of each, C classes (1 for transduction), k shots, M = C · k examples of a support.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from tam.errors import SettingError, UserError
from tam.methods.losses import ExampleLosses, backward
from tam.methods.method import Losses, Update
from tam.models import Batch, Model, ModelSpec
from tam.models.spec import Purpose


def ranks(batch: Batch, classes: int) -> tuple[Tensor, Tensor]:
    """Each row's class and its number among the rows of that class, `[B, N]` each; absent rows count from C.

    For transduction all rows are of one class.
    """
    group = batch.y if batch.y_length is None else torch.zeros_like(batch.x_length)
    if batch.present is not None:
        group = group.masked_fill(~batch.present, max(classes, 1))
    is_of = group.unsqueeze(-1) == torch.arange(max(classes, 1) + 1, device=batch.device)
    return group, (is_of.cumsum(1) * is_of).sum(-1) - 1


def in_support(batch: Batch, shots: Tensor | int, classes: int) -> Tensor:
    """The first `shots` rows of each class, as a mask `[B, N]`; rows are in random order, so that is a draw.

    `shots` may differ between tasks: `[B, 1]`.
    """
    group, rank = ranks(batch, classes)
    return (group < max(classes, 1)) & (rank < shots)


def episode(batch: Batch, shots: int, classes: int, queries: int | None = None) -> Batch:
    """Queries of each task with a support of `shots` examples of each class.

    Args:
        batch: Rows in random order.
        shots: Examples of each class; for transduction of the task.
        classes: The number of classes that the model knows; 0 for transduction.
        queries: How many queries of each task, at most; None for all rows that are not in the support.
    """
    groups = max(classes, 1)
    size = groups * shots
    check_rows(batch.rows, shots, classes)
    group, rank = ranks(batch, classes)
    chosen = (group < groups) & (rank < shots)
    numbers = torch.arange(batch.rows, device=batch.device).expand_as(group)
    place = torch.where(chosen, group * shots + rank, size)  # the rest goes to a place that is cut off
    rows = group.new_zeros(batch.tasks, size + 1).scatter(1, place, numbers)[:, :size]
    filled = torch.zeros_like(chosen[:, :1]).expand(-1, size + 1).scatter(1, place, chosen)[:, :size]
    support = replace(batch.take(rows), present=filled)
    others = (
        (~chosen).int().argsort(dim=1, stable=True)[:, size:]
    )  # at most `size` are chosen, and come first
    return replace(batch.take(others[:, :queries]), support=support)


def check_rows(rows: int, shots: int, classes: int) -> None:
    """Raise an error if so many rows of a task leave none to ask after a support; 0 classes: transduction."""
    size = max(classes, 1) * shots
    if rows <= size:
        raise SettingError(
            f"rows is {rows}: an episode takes more than the {size} examples of its support; give more "
            f"rows, or fewer shots than {shots}"
        )


def learn(model: Model, losses: ExampleLosses, update: Update) -> Losses:
    """Move θ along the gradient of the tasks' mean losses; a task without queries counts nothing."""
    asked = losses.predictions.sum(1)
    loss = losses.per_task()
    backward(loss.sum(), list(model.parameters()))
    count = (asked > 0).sum().to(loss.dtype)
    update(count)
    mean = loss.detach().sum() / count.clamp(min=1)
    return Losses(mean, mean, torch.zeros_like(mean))


def check_shots(support: Batch, shots: int) -> None:
    """Raise an error unless there are `shots` examples of each class, or of a task for transduction."""
    classes = 0 if support.classes is None else int(support.classes.max())
    group, _ = ranks(support, classes)
    counts = torch.stack([(group == place).sum(1) for place in range(max(classes, 1))], dim=1)
    asked = torch.full_like(counts, shots)
    if support.classes is not None:
        asked = asked * (torch.arange(classes, device=support.device) < support.classes.unsqueeze(1))
    if not torch.equal(counts, asked):
        wrong = counts[(counts != asked).any(1)][0].tolist()
        given = " + ".join(map(str, wrong))
        what = "of each class" if support.y_length is None else "of a task"
        raise UserError(
            f"this model is for k = {shots}: it takes {shots} examples {what}, not {given}; "
            "give as many, or train another model with --shots"
        )


def network_for(purpose: Purpose, spec: ModelSpec) -> ModelSpec:
    """The network of a method that has no task embedding; unknown primitives share one that is learned."""
    if spec.compositional:
        return replace(spec, purpose=purpose, unknown=True)
    return replace(spec.without_embedding(), purpose=purpose)


def unknown_primitive(model: Model, batch: Batch) -> Tensor | None:
    """What stands in the unknown slot of each task, `[B, 1, d]`; None where there is none."""
    if batch.unknown is None or model.unknown is None:
        return None
    return model.unknown.expand(batch.tasks, 1, -1)


def in_parts(
    states: Tensor, batch: Batch, numbers: int, outcomes: Callable[[Tensor, Batch], Tensor]
) -> Tensor:
    """The outcomes of all tasks, of so many at a time that they take no more than 2²⁷ numbers.

    `numbers` is how many one task takes.
    """
    size = max(1, 2**27 // max(numbers, 1))
    parts = [slice(start, start + size) for start in range(0, batch.tasks, size)]
    return torch.cat([outcomes(states[part], batch.part(part)) for part in parts])
