"""What every method minimises: the negative log-likelihood of the answers.

Shapes: B tasks, N rows of each, S components of a task embedding.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from tam.models import Batch, Model, target_log_prob


class ExampleLosses(NamedTuple):
    """The loss of every example, and of how many predictions it is the sum."""

    total: Tensor  # [B, N], 0 where there is no example
    predictions: Tensor  # [B, N]: 1 for a class, the length of y and its end token for a sequence

    def per_task(self, rows: Tensor | None = None) -> Tensor:
        """The mean over a task's predictions, `[B]`, 0 over none.

        Over the rows that are 1 if some are given, as 0 or 1, `[B, N]`; every task must have one.
        """
        if rows is None:
            return self.total.sum(1) / self.predictions.sum(1).clamp(min=1)
        return (self.total * rows).sum(1) / (self.predictions * rows).sum(1)


def example_losses(model: Model, z: Tensor | None, batch: Batch) -> ExampleLosses:
    """−log p(y | x, z; θ) of every example; `z` is `[B, 1, S]` or `[B, N, S]`."""
    return losses_of(model(z, batch), batch)


def task_losses(outcomes: Tensor, batch: Batch) -> Tensor:
    """The mean loss of each task, `[B]`, given the log-probabilities of all answers."""
    log_prob = outcomes if batch.y_length is None else target_log_prob(outcomes, batch)
    return losses_of(log_prob, batch).per_task()


def backward(
    loss: Tensor, theta: Sequence[Tensor], inputs: Sequence[Tensor] = (), *, add: bool = True
) -> Sequence[Tensor]:
    """Add the gradient of θ to `.grad`, or put it there in the place of what is; return those of the inputs.

    The same as `loss.backward()`, but all parameters' `.grad` are changed in one operation, which counts
    on a GPU: there are a hundred of them.
    """
    for parameter in theta:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    found = torch.autograd.grad(loss, [*inputs, *theta], materialize_grads=True)
    gradients, found = found[: len(inputs)], found[len(inputs) :]
    sums = [parameter.grad for parameter in theta if parameter.grad is not None]
    put(sums, found, whole=_whole(sums) if loss.is_cuda else None, add=add)
    return gradients


def put(sums: list[Tensor], found: Sequence[Tensor], *, whole: Tensor | None, add: bool) -> None:
    """Add what was found to the sums, or put it in their place; `whole` is the vector of them all, if any."""
    if whole is None:
        change = torch._foreach_add_ if add else torch._foreach_copy_  # pyright: ignore
        change(sums, list(found))
        return
    parts = [part.flatten() for part in found]
    if add:
        whole += torch.cat(parts)
    else:
        torch.cat(parts, out=whole)


def _whole(parts: Sequence[Tensor]) -> Tensor | None:
    """The vector that these are all of, one after another, if they are."""
    whole, place = parts[0]._base, 0
    for part in parts:
        if part._base is not whole or part.storage_offset() != place or not part.is_contiguous():
            return None
        place += part.numel()
    return whole if whole is not None and whole.dim() == 1 and len(whole) == place else None


def losses_of(log_prob: Tensor, batch: Batch) -> ExampleLosses:
    """The losses, given the log-probabilities of a batch's answers as a model returns them."""
    return _losses(log_prob, batch.y, batch.y_length, batch.present)


def _losses(log_prob: Tensor, y: Tensor, y_length: Tensor | None, present: Tensor | None) -> ExampleLosses:
    if y_length is None:
        total = F.nll_loss(log_prob.flatten(0, 1), y.flatten(), reduction="none").view_as(y)
        count = torch.ones_like(total)
    else:
        total = -log_prob.sum(-1)
        count = (y_length + 1).to(total.dtype)
    if present is None:
        return ExampleLosses(total, count)
    return ExampleLosses(total.masked_fill(~present, 0.0), count * present)


class Weighed(NamedTuple):
    """Losses of examples and of tasks, of which the sum over the tasks alone has a gradient."""

    sum: Tensor  # of the tasks' losses, each times its weight
    tasks: Tensor  # [B]
    examples: ExampleLosses


def weigh(log_prob: Tensor, batch: Batch, weights: Tensor | None) -> Weighed:
    """The losses, given what a model returned, and their sum over the tasks with these weights `[B]`."""
    whole, tasks, *examples = _weigh(log_prob, batch.y, batch.y_length, batch.present, weights)
    return Weighed(whole, tasks, ExampleLosses(*examples))


def _weigh(
    log_prob: Tensor, y: Tensor, y_length: Tensor | None, present: Tensor | None, weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    losses = _losses(log_prob, y, y_length, present)
    tasks = losses.per_task()
    weighed = tasks if weights is None else tasks * weights
    return weighed.sum(), tasks.detach(), losses.total.detach(), losses.predictions
