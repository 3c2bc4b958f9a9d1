"""TAM's objective: the tasks' losses as a function of z, with their gradients with respect to z and θ.

Shapes: B tasks, N rows per task, S components of a task embedding.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from tam.methods.losses import ExampleLosses, backward, score_losses, score_of_targets
from tam.models import Batch, Model, no_weight_gradients
from tam.models.fast.engine import has_kernels
from tam.models.fast.gpu_losses import chosen_rows


class Gradients(NamedTuple):
    """The losses at z and their gradients, from one pass."""

    loss: Tensor
    """Each task's loss over the rows that z is fitted to, `[B]`."""
    in_z: Tensor
    """The gradient of `loss` with respect to z, `[B, S]`."""
    of_rows: Tensor
    """The gradient of the loss over all rows, per row's copy of z, `[B, N, S]`, or for z, `[B, 1, S]`."""


class Objective:
    """The losses of a batch's tasks as a function of z.

    Args:
        model: The network.
        batch: The examples of the tasks.
        z_rows: The rows that z is fitted to, as 0 or 1, `[B, N]`; None for all. θ learns from all rows.
        keep_x: Whether to compute what depends on x alone only once; θ must then not change before `finish`.
    """

    def __init__(self, model: Model, batch: Batch, z_rows: Tensor | None, *, keep_x: bool = True) -> None:
        self.model, self.batch, self.z_rows = model, batch, z_rows
        self._x_cache: tuple[Tensor, ...] = ()
        if keep_x:
            with torch.enable_grad():
                self._x_cache = model.with_x_cache(batch).x_cache
            self.batch = replace(
                batch, x_cache=tuple(part.detach().requires_grad_() for part in self._x_cache)
            )

    def at(self, z: Tensor, theta: Tensor | None = None) -> Gradients:
        """The losses and their gradients at z, `[B, S]`, in one pass.

        One backward pass serves z and θ. If z is fitted to some rows only, every row has its own copy of z,
        and the other rows are left out of z's gradient afterwards.

        Args:
            z: The task embeddings.
            theta: The tasks' weights in the gradient of θ, `[B]`, which is over all rows and goes into
                `.grad`. A task of weight 0 gets no gradient for z either. None: no gradient for θ.
        """
        z = z.detach().unsqueeze(1)
        z = (z if self.z_rows is None else z.repeat(1, self.batch.rows, 1)).requires_grad_()
        with torch.enable_grad():
            losses, examples = score_losses(score_of_targets(self.model, z, self.batch), self.batch)
            if theta is None:
                with no_weight_gradients():
                    (gradient,) = torch.autograd.grad(losses.sum(), z)
            else:
                gradient = self._backward(losses, z, theta)
        if self.z_rows is None:
            return Gradients(losses.detach(), gradient.squeeze(1), gradient)
        return Gradients(*_of_rows(gradient, *examples, self.z_rows), gradient)

    def _backward(self, losses: Tensor, z: Tensor, theta: Tensor) -> Tensor:
        """Put the gradient of θ into `.grad`; return the gradient of z."""
        x = self.batch.x_cache
        parameters = list(self.model.parameters())
        gradient, *of_x = backward(losses, parameters, [z, *x], weights=theta)
        for part, of_part in zip(x, of_x, strict=True):
            part.grad = of_part if part.grad is None else part.grad.add_(of_part)
        return gradient

    def finish(self) -> None:
        """Backpropagate through what was computed from x alone, into the `.grad` of θ."""
        if self._x_cache:
            gradients = [part.grad for part in self.batch.x_cache]
            parts = zip(self._x_cache, gradients, strict=True)
            products = [(part * gradient).sum() for part, gradient in parts if gradient is not None]
            torch.autograd.backward(products, inputs=list(self.model.parameters()))


def _of_rows(gradient: Tensor, total: Tensor, predictions: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The tasks' losses over some rows, `[B]`, and their gradients, given those of each row's copy of z."""
    if has_kernels(gradient):
        return chosen_rows(gradient, total, predictions, rows)
    share = predictions.sum(1) / (predictions * rows).sum(1)
    gradient = (gradient * rows.unsqueeze(2)).sum(1) * share.unsqueeze(1)
    return ExampleLosses(total, predictions).per_task(rows), gradient
