"""The loss that every method minimises: the negative log-likelihood of the answers.

Shapes: B tasks, N rows per task, S components of a task embedding, Q predictions per answer.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tam.models import Batch, Model, target_log_prob, token_targets
from tam.models.fast.context import check_first_derivative, having, wants_weight_gradients
from tam.models.fast.engine import has_kernels
from tam.models.fast.gpu_losses import loss_gradients
from tam.models.fast.gpu_losses import task_losses as launch_task_losses

_smoothing: ContextVar[float] = ContextVar("tam: label smoothing", default=0.0)


class ExampleLosses(NamedTuple):
    """The summed loss of every example, and its number of predictions."""

    total: Tensor  # [B, N], 0 for absent rows
    predictions: Tensor  # [B, N]: 1 for a class, the length of y and its end token for a sequence

    def per_task(self, rows: Tensor | None = None) -> Tensor:
        """The mean loss over each task's predictions, `[B]`; 0 for a task without predictions.

        `rows`, `[B, N]` as 0 or 1, restricts it to the rows marked 1; every task must have one.
        """
        if rows is None:
            return self.total.sum(1) / self.predictions.sum(1).clamp(min=1)
        return (self.total * rows).sum(1) / (self.predictions * rows).sum(1)


def example_losses(model: Model, z: Tensor | None, batch: Batch) -> ExampleLosses:
    """−log p(y | x, z; θ) of every example; `z` is `[B, 1, S]` or `[B, N, S]`."""
    return _losses(score_of_targets(model, z, batch), batch.y_length, batch.present)


def smoothed(share: float) -> AbstractContextManager[None]:
    """Smooth labels in this context: spread this share of each target probability evenly over all answers."""
    return having(_smoothing, share)


def score_of_targets(model: Model, z: Tensor | None, batch: Batch) -> Tensor:
    """`model.score`, with label smoothing inside `smoothed`."""
    if not _smoothing.get():
        return model.score(z, batch)
    return _target_score(model.outcomes(model.condition(z, batch), batch), batch)


def _target_score(outcomes: Tensor, batch: Batch) -> Tensor:
    """The targets' log-probabilities, `[B, N, Q]`, mixed with the mean over all possible answers."""
    if batch.y_length is None:
        of_target = outcomes.gather(-1, batch.y.unsqueeze(-1))
        scored = None
    else:
        of_target = target_log_prob(outcomes, batch)
        _, scored = token_targets(batch, end=outcomes.shape[-1] - 1)
    if not (share := _smoothing.get()):
        return of_target
    possible = outcomes.isfinite()  # a task may have fewer classes than the model
    mean = torch.where(possible, outcomes, 0.0).sum(-1) / possible.sum(-1)
    mean = mean.unsqueeze(-1) if scored is None else mean.masked_fill(~scored, 0.0)
    return (1 - share) * of_target + share * mean


def task_losses(outcomes: Tensor, batch: Batch) -> Tensor:
    """The mean loss of each task, `[B]`, given the log-probabilities of all answers."""
    return _losses(_target_score(outcomes, batch), batch.y_length, batch.present).per_task()


def backward(
    loss: Tensor, theta: Sequence[Tensor], inputs: Sequence[Tensor] = (), *, weights: Tensor | None = None
) -> Sequence[Tensor]:
    """Add the gradient of θ to `.grad`; return the gradients of the inputs.

    The same as `loss.backward(weights)`, but it changes the `.grad` of all parameters in one operation: there
    are a hundred of them, which would be slow on a GPU.
    """
    if not wants_weight_gradients():
        raise RuntimeError("weight gradients are skipped in this context; leave no_weight_gradients() first")
    for parameter in theta:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    scalar = loss if weights is None else loss @ weights  # given weights, `grad` would import sympy: seconds
    gradients = torch.autograd.grad(scalar, [*inputs, *theta], materialize_grads=True)
    of_inputs, of_theta = gradients[: len(inputs)], gradients[len(inputs) :]
    sums = [parameter.grad for parameter in theta if parameter.grad is not None]
    base = _common_base(sums) if loss.is_cuda else None
    if base is None:
        torch._foreach_add_(sums, of_theta)  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
    else:
        base += torch.cat([part.flatten() for part in of_theta])
    return of_inputs


def _common_base(parts: Sequence[Tensor]) -> Tensor | None:
    """The vector that these tensors are consecutive views of, without gaps; None if there is none."""
    base, place = parts[0]._base, 0
    for part in parts:
        if part._base is not base or part.storage_offset() != place or not part.is_contiguous():
            return None
        place += part.numel()
    return base if base is not None and base.dim() == 1 and len(base) == place else None


def losses_of(log_prob: Tensor, batch: Batch) -> ExampleLosses:
    """The losses, given what `Model.log_prob` returns: of all classes, or of the tokens of y."""
    if batch.y_length is None:
        log_prob = _target_score(log_prob, batch)
    return _losses(log_prob, batch.y_length, batch.present)


def _losses(log_prob: Tensor, y_length: Tensor | None, present: Tensor | None) -> ExampleLosses:
    """The losses, given the log-probabilities of each answer's parts, `[B, N, Q]`."""
    total = -log_prob.sum(-1)
    count = torch.ones_like(total) if y_length is None else (y_length + 1).to(total.dtype)
    if present is None:
        return ExampleLosses(total, count)
    return ExampleLosses(total.masked_fill(~present, 0.0), count * present)


def score_losses(log_prob: Tensor, batch: Batch) -> tuple[Tensor, ExampleLosses]:
    """The losses of tasks, `[B]`, and of examples, without gradient, given what `Model.score` returns."""
    if has_kernels(log_prob):
        tasks, *examples = _TaskLosses.apply(log_prob, batch.y_length, batch.present)
        return tasks, ExampleLosses(*examples)
    examples = _losses(log_prob, batch.y_length, batch.present)
    return examples.per_task(), ExampleLosses(*(value.detach() for value in examples))


class _TaskLosses(torch.autograd.Function):
    """The losses of tasks and examples, and the examples' numbers of predictions, in one kernel."""

    @staticmethod
    def forward(
        ctx: Any, log_prob: Tensor, y_length: Tensor | None, present: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        means, counts, totals, predictions = launch_task_losses(log_prob, y_length, present)
        ctx.save_for_backward(counts, present)
        ctx.shape = log_prob.shape
        ctx.mark_non_differentiable(totals, predictions)
        ctx.set_materialize_grads(False)
        return means, totals, predictions

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        check_first_derivative()
        counts, present = ctx.saved_tensors
        return loss_gradients(gradients[0], counts, present, ctx.shape), None, None
