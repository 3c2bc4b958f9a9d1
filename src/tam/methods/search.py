"""The inner loop: gradient descent for B tasks at once, each of which stops independently.

Shapes: B tasks, S numbers per task: the components of a task embedding, or all weights.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tam.methods.losses import example_losses
from tam.methods.method import Rate
from tam.methods.replay import recorder_for, repeat
from tam.models import Batch, Model, no_weight_gradients
from tam.models.fast.engine import has_kernels
from tam.models.fast.gpu_adam import TaskMoments, move_tasks, watch_tasks

_BETAS = (0.9, 0.999)
_EPSILON = 1e-8


class Descent:
    """Plain gradient descent on z.

    Call `observe(loss at z)` and `step(gradient at z)` in turn, or `watch` instead of `observe` if the best z
    is not needed. No value is read back to Python, and all state is in tensors that are attributes, so that
    the loop, or one iteration of it, can be recorded as a CUDA graph.

    Attributes:
        z: The current z, `[B, S]`.
        best: The lowest loss so far, `[B]`.
        best_z: The z with the lowest loss, `[B, S]`.
        active: Which tasks have not stopped, `[B]`, as 0 or 1.
        count: The number of active tasks.
    """

    def __init__(self, start: Tensor, rate: Rate, patience: int | None = None) -> None:
        self.z = self.best_z = start.contiguous()
        self.rate = rate.unsqueeze(1) if isinstance(rate, Tensor) else start.new_full((), rate)
        self._patience = start.new_full((), math.inf if patience is None else patience)
        self.active = start.new_ones(len(start))
        self.count = start.new_full((), len(start))
        self.best = torch.full_like(self.active, math.inf)
        self._worse = torch.zeros_like(self.active)

    def observe(self, loss: Tensor) -> None:
        """Record the loss at z, `[B]`, and z if the loss is the lowest so far; stop tasks as `watch` does."""
        self.best_z = torch.where((loss.detach() < self.best).unsqueeze(1), self.z, self.best_z)
        self.watch(loss)

    def watch(self, loss: Tensor) -> None:
        """Record the loss at z, `[B]`; stop tasks whose loss has not improved for `patience` steps."""
        state = (loss.detach(), self.best, self._worse, self.active, self._patience)
        watch = watch_tasks if has_kernels(self.z) else _watch
        self.best, self._worse, self.active, self.count = watch(*state)

    def step(self, gradient: Tensor) -> None:
        """Move the active tasks' z against the gradient, `[B, S]`."""
        self.z = self.z - self.rate * gradient * self.active.unsqueeze(1)

    def follow(self, losses: Callable[[Tensor], Tensor], steps: Sequence[int]) -> list[Tensor]:
        """Run the search; return the z with the lowest loss within each number of steps, `[B, S]` each.

        NaN never counts as an improvement, so a diverged search returns its last good point. `losses` are
        those of every task, `[B]`, at z, `[B, S]`.
        """
        best_at: dict[int, Tensor] = {}
        last = max(steps)
        if (recorder := recorder_for(self.z, last)) is not None:
            # The last iteration updates z once too often, but only after recording the best z.
            for step in repeat(self, lambda: self._iterate(losses), last + 1, recorder):
                if step in steps:
                    best_at[step] = self.best_z.clone()
        else:
            for step in range(last):
                self._iterate(losses)
                if step in steps:
                    best_at[step] = self.best_z
            with torch.no_grad():
                self.observe(losses(self.z))
            best_at[last] = self.best_z
        return [best_at[step] for step in steps]

    def _iterate(self, losses: Callable[[Tensor], Tensor]) -> None:
        with torch.enable_grad():
            z = self.z.detach().requires_grad_()
            loss = losses(z)
            (gradient,) = torch.autograd.grad(loss.sum(), z)
        self.observe(loss)
        self.step(gradient)


def _watch(
    loss: Tensor, best: Tensor, worse: Tensor, active: Tensor, patience: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The new lowest loss, steps without improvement, active tasks and their number."""
    worse = torch.where(loss < best, 0.0, worse + 1)
    active = active * (worse < patience)
    return torch.minimum(best, loss), worse, active, active.sum()


class Search(Descent):
    """Adam on z."""

    def __init__(self, start: Tensor, rate: Rate, patience: int | None = None) -> None:
        super().__init__(start, rate, patience)
        self._mean, self._square = torch.zeros_like(start), torch.zeros_like(start)
        # β₁ᵗ and β₂ᵗ after t steps.
        self._powers = start.new_ones(2, dtype=torch.float64)

    def step(self, gradient: Tensor) -> None:
        """Update the active tasks' z, given its gradient, `[B, S]`."""
        state = TaskMoments(self.z, self._mean, self._square, self._powers)
        self.z, self._mean, self._square, self._powers = _adam(state, gradient, self.active, self.rate)


def _adam(state: TaskMoments, gradient: Tensor, active: Tensor, rate: Tensor) -> TaskMoments:
    """One Adam step on the active tasks; the rate is one for all, or one per task, `[B, 1]`."""
    if has_kernels(state.z):
        return move_tasks(state, gradient, active, rate, betas=_BETAS, epsilon=_EPSILON)
    powers = torch.stack([power * beta for power, beta in zip(state.powers, _BETAS, strict=True)])
    mean = torch.lerp(gradient, state.mean, _BETAS[0])
    square = torch.lerp(gradient.square(), state.square, _BETAS[1])
    change = rate * (mean / (1 - powers[0])) / ((square / (1 - powers[1])).sqrt() + _EPSILON)
    return TaskMoments(state.z - change * active.unsqueeze(1), mean, square, powers)


def fit_embeddings(search: Descent, model: Model, support: Batch, steps: Sequence[int]) -> list[Tensor]:
    """Task embeddings `[B, S]` with the lowest support loss within each number of steps; θ is fixed."""
    with torch.no_grad():
        support = model.with_x_cache(support)
    with no_weight_gradients():
        return search.follow(lambda z: example_losses(model, z.unsqueeze(1), support).per_task(), steps)
