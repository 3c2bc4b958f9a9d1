"""Episodes: split the rows of a training batch into a support and queries, as at test time.

All tensors have fixed shapes, and no value is read back to Python.

Shapes: B tasks, N rows per task, C classes (1 for transduction), k shots, M = C · k examples per support.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from tam.config.methods import SnailSettings
from tam.errors import SettingError, UserError
from tam.methods.losses import ExampleLosses, backward, losses_of
from tam.methods.method import Losses, Method, Rate, TaskStates, Update
from tam.models import Batch, Model, ModelSpec
from tam.models.spec import Purpose
from tam.models.support_state import pack_support, unpack_support


def log_uniform(sizes: tuple[int, int], chance: Tensor) -> Tensor:
    """Turn uniform random numbers into log-uniform sizes between two bounds."""
    low, high = sizes
    return (low * (high / low) ** chance).round()


def split(batch: Batch, sizes: tuple[int, int]) -> tuple[Batch, Batch]:
    """Split each task's rows, which are in random order, into support (the first) and query (the rest).

    Support sizes are drawn log-uniformly from `sizes`. If tasks have different numbers of rows, a support
    takes at most half of its task's rows.
    """
    check_support(batch.rows, sizes)
    low, high = sizes
    if low == high and batch.present is None:
        return batch.cut(slice(high)), batch.cut(slice(high, None))
    assert batch.chance is not None
    size = log_uniform(sizes, batch.chance[:, :1])
    place = torch.arange(batch.rows, device=batch.device)
    if batch.present is None:
        support = batch.cut(slice(high))
        return replace(support, present=place[:high] < size), batch.cut(slice(high, None))
    size = torch.minimum(size, batch.present.sum(1, keepdim=True) // 2)
    support = replace(batch, present=place < size).cut(slice(high))
    return support, replace(batch, present=batch.present & (place >= size))


def check_support(rows: int, sizes: tuple[int, int]) -> None:
    """Raise an error unless even the largest support leaves rows to query."""
    if sizes[1] >= rows:
        raise SettingError(
            f"support_sizes must leave rows to query: got up to {sizes[1]}, but a task has {rows} rows a step"
        )


def in_support(batch: Batch, shots: Tensor | int, classes: int) -> Tensor:
    """Mask the first `shots` rows of each class, `[B, N]`: a random draw, as rows are in random order.

    `shots` may differ between tasks: `[B, 1]`.
    """
    group, rank = _ranks(batch, classes)
    return (group < max(classes, 1)) & (rank < shots)


def _ranks(batch: Batch, classes: int) -> tuple[Tensor, Tensor]:
    """Each row's class and its rank within that class, `[B, N]` each; absent rows get class C.

    For transduction all rows share one class.
    """
    group = batch.y if batch.y_length is None else torch.zeros_like(batch.x_length)
    if batch.present is not None:
        group = group.masked_fill(~batch.present, max(classes, 1))
    is_of = group.unsqueeze(-1) == torch.arange(max(classes, 1) + 1, device=batch.device)
    return group, (is_of.cumsum(1) * is_of).sum(-1) - 1


def episode(batch: Batch, shots: int, classes: int, queries: int | None = None) -> Batch:
    """Turn each task's rows into queries with a support of `shots` examples per class.

    A class with fewer than `shots` rows puts all of them into the support, so every query's class is in its
    support; the places left empty are marked in `Batch.present`.

    Args:
        batch: Rows in random order.
        shots: Examples per class; per task for transduction.
        classes: The number of classes that the model knows; 0 for transduction.
        queries: Most queries per task; None for all rows outside the support.
    """
    groups = max(classes, 1)
    size = groups * shots
    check_rows(batch.rows, shots, classes)
    group, rank = _ranks(batch, classes)
    chosen = (group < groups) & (rank < shots)
    numbers = torch.arange(batch.rows, device=batch.device).expand_as(group)
    place = torch.where(chosen, group * shots + rank, size)  # the rest go to an extra place, cut off below
    rows = group.new_zeros(batch.tasks, size + 1).scatter(1, place, numbers)[:, :size]
    filled = torch.zeros_like(chosen[:, :1]).expand(-1, size + 1).scatter(1, place, chosen)[:, :size]
    support = replace(batch.take(rows), present=filled)
    chosen_first = (~chosen).int().argsort(dim=1, stable=True)  # at most `size` are chosen
    return replace(batch.take(chosen_first[:, size:][:, :queries]), support=support)


def check_rows(rows: int, shots: int, classes: int) -> None:
    """Raise an error unless a support leaves rows to query; 0 classes mean transduction."""
    size = max(classes, 1) * shots
    if rows <= size:
        raise SettingError(
            f"rows is {rows}: an episode needs more than the {size} examples of its support; give more rows, "
            f"or fewer shots than {shots}"
        )


def learn(model: Model, losses: ExampleLosses, update: Update) -> Losses:
    """Update θ by the mean gradient of the tasks' losses; tasks without queries do not count."""
    asked = losses.predictions.sum(1)
    loss = losses.per_task()
    backward(loss.sum(), list(model.parameters()))
    count = (asked > 0).sum().to(loss.dtype)
    update(count)
    mean = loss.detach().sum() / count.clamp(min=1)
    return Losses(mean, mean, torch.zeros_like(mean))


@dataclass(frozen=True, kw_only=True)
class EpisodicMethod(SnailSettings, Method):
    """A method trained in episodes of one k, whose task state is the support itself."""

    purpose: ClassVar[Purpose]
    keeps_support: ClassVar[bool] = True
    shots: int

    @abstractmethod
    def log_prob(self, model: Model, query: Batch) -> Tensor:
        """`Model.log_prob` of the queries, given their support."""

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """The network for `purpose`."""
        return network_for(self.purpose, spec)

    def check_rows(self, rows: int, shots: int, classes: int) -> None:
        """Raise an error unless a support leaves rows to query."""
        check_rows(rows, shots, classes)

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """Train on one episode per task."""
        query = episode(batch, self.shots, model.spec.classes, self.episode_queries)
        return learn(model, losses_of(self.log_prob(model, query), query), update)

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[TaskStates]:
        """The support itself; steps and rate are ignored."""
        check_shots(support, self.shots)
        return [pack_support(support, model.spec)] * len(steps)


def check_shots(support: Batch, shots: int) -> None:
    """Raise an error unless each support has `shots` examples per class, or per task for transduction."""
    classes = 0 if support.classes is None else int(support.classes.max())
    group, _ = _ranks(support, classes)
    counts = torch.stack([(group == place).sum(1) for place in range(max(classes, 1))], dim=1)
    asked = torch.full_like(counts, shots)
    if support.classes is not None:
        asked = asked * (torch.arange(classes, device=support.device) < support.classes.unsqueeze(1))
    if not torch.equal(counts, asked):
        wrong = counts[(counts != asked).any(1)][0].tolist()
        what = "of each class" if support.y_length is None else "of a task"
        raise UserError(
            f"this model is for k = {shots}: a support must have {shots} examples {what}: got "
            f"{' + '.join(map(str, wrong))}; give {shots}, or train another model with --shots"
        )


def network_for(purpose: Purpose, spec: ModelSpec) -> ModelSpec:
    """The network of a method without task embeddings; unknown primitives share one learned embedding."""
    if spec.compositional:
        return replace(spec, purpose=purpose, unknown=True)
    return replace(spec.without_embedding(), purpose=purpose)


def unknown_primitive(model: Model, batch: Batch) -> Tensor | None:
    """The learned embedding for the unknown slot of each task, `[B, 1, d]`; None without such a slot."""
    if batch.unknown is None or model.unknown is None:
        return None
    return model.unknown.expand(batch.tasks, 1, -1)


def in_parts(
    model: Model, states: Tensor, batch: Batch, numbers: int, outcomes: Callable[[Batch], Tensor]
) -> Tensor:
    """Compute the outcomes of queries, given their packed supports, in parts that fit into memory.

    `numbers` is how many values one task needs in memory; a part needs at most 2²⁷, unless it is one task.
    """
    size = max(1, 2**27 // max(numbers, 1))
    batch = replace(batch, support=unpack_support(states, model.spec))
    parts = [slice(start, start + size) for start in range(0, batch.tasks, size)]
    return torch.cat([outcomes(batch.part(part)) for part in parts])
