"""The protocol that every method follows.

Shapes: B tasks, N rows of each.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, Protocol

from torch import Tensor

from tam.methods.losses import backward
from tam.models import Batch, Model, ModelSpec

TaskStates = Tensor
"""What a method knows of B tasks after adapting, a row of numbers for each: `[B, …]`.

A vector for TAM, weights for methods that change the weights, the support itself for methods that read it.
"""

Rate = float | Tensor
"""The step size with which tasks are learned: the same for all, or each task's own, `[B]`."""

Update = Callable[[Tensor], None]
"""Moves θ by the gradients in `.grad`, a sum over this many (a tensor) task-steps, and clears them."""


class Losses(NamedTuple):
    """How a training step went, averaged over its tasks; tensors, so that nothing waits for a GPU."""

    start: Tensor  # the loss with a blank task state
    end: Tensor  # the loss with the state at the end of the step
    steps: Tensor  # the number of inner steps
    z: Tensor | None = None  # where the search for each task's embedding ended, `[B, S]`, if there was one

    @property
    def means(self) -> tuple[Tensor, Tensor, Tensor]:
        """The averages over the tasks."""
        return self.start, self.end, self.steps


def move(
    model: Model, losses: Tensor, update: Update, *, first: Tensor | None = None, inner_steps: int = 0
) -> Losses:
    """Move θ once, along the mean gradient of the tasks' losses, `[B]`.

    `first` are the losses before the inner steps, if there were any.
    """
    backward(losses.sum(), list(model.parameters()))
    update(losses.new_full((), len(losses)))
    end = losses.detach().mean()
    start = end if first is None else first.detach().mean()
    return Losses(start, end, losses.new_full((), inner_steps))


class Method(Protocol):
    """How θ is trained and how a new task is learned. A frozen dataclass: its fields are its settings."""

    version: ClassVar[int]
    """Raised when its results would change; part of every result's identity."""

    keeps_support: ClassVar[bool] = False
    """Whether a task's state is its support, packed: a list of examples, no point in a space."""

    classification_only: ClassVar[bool] = False
    """Whether answers are labels, never sequences."""

    @property
    def searches(self) -> int:
        """How many searches learn a task; each takes memory for the whole support."""
        return 1

    @property
    def allows_kernels(self) -> bool:
        """Whether training may use our kernels: no second derivative, and weights that all tasks share."""
        return True

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """The model that the method needs, given the one that TAM takes and the number of training tasks."""
        return spec

    def check_rows(self, rows: int, shots: int, classes: int) -> None:
        """Raise an error if this many rows of a task are too few for a step; `shots` of one model per k."""

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """Outer step number `step`, on B tasks at once; calls `update` wherever θ moves."""
        ...

    def phase(self, step: int) -> int:
        """Outer steps of one phase do the same operations on the same shapes: one recording serves them."""
        return 0

    def shortened(self) -> "Method":
        """The same method with as few inner steps as still use everything that a training step uses."""
        return self

    def at_once(self, model: Model) -> int | None:
        """The most tasks to adapt or to answer together, where their states take much memory; None: any."""
        return None

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[TaskStates]:
        """Learn B tasks at once; one trajectory yields the states after each number of steps."""
        ...

    def outcomes(self, model: Model, states: TaskStates, batch: Batch) -> Tensor:
        """Log-probabilities of all answers under these states, as `Model.outcomes` gives them.

        By default a state is a task embedding z, `[B, S]`: log p(· | x, z; θ).
        """
        return model.outcomes(model.condition(states.unsqueeze(1), batch), batch)
