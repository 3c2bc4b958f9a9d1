"""The protocol that every method follows.

Shapes: B tasks, N rows per task.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, Protocol

from torch import Tensor

from tam.methods.losses import backward
from tam.models import Batch, Model, ModelSpec

TaskStates = Tensor
"""The result of adapting to B tasks, one row of numbers per task: `[B, …]`.

z for TAM, weights for methods that fine-tune them, the support itself for methods that read it.
"""

Rate = float | Tensor
"""The learning rate of adapting: one for all tasks, or one per task, `[B]`."""

Update = Callable[[Tensor], None]
"""Updates θ by the gradients in `.grad`, summed over this many task-steps (a tensor), and clears them."""


class Losses(NamedTuple):
    """The losses of a training step, averaged over its tasks; tensors, so that nothing waits for a GPU."""

    start: Tensor  # the loss with a blank task state
    end: Tensor  # the loss with the state at the end of the step
    steps: Tensor  # the number of inner steps
    z: Tensor | None = None  # the last z of each task's search, `[B, S]`, if there was one

    @property
    def means(self) -> tuple[Tensor, Tensor, Tensor]:
        """The averages over the tasks."""
        return self.start, self.end, self.steps


def move(
    model: Model, losses: Tensor, update: Update, *, first: Tensor | None = None, inner_steps: int = 0
) -> Losses:
    """Update θ once, by the mean gradient of the tasks' losses, `[B]`.

    `first` holds the losses before the inner steps, if there were any.
    """
    backward(losses.sum(), list(model.parameters()))
    update(losses.new_full((), len(losses)))
    end = losses.detach().mean()
    start = end if first is None else first.detach().mean()
    return Losses(start, end, losses.new_full((), inner_steps))


class Method(Protocol):
    """How θ is trained and how a new task is learned. A frozen dataclass: its fields are its settings."""

    version: ClassVar[int]
    """Incremented when the method's results change; part of every result's identity."""

    keeps_support: ClassVar[bool] = False
    """Whether a task's state is its packed support: a list of examples, not a point in a vector space."""

    fits_vector: ClassVar[bool] = False
    """Whether a task is learned by fitting its vector alone, with the network as it is."""

    classification_only: ClassVar[bool] = False
    """Whether answers must be classes, not sequences."""

    @property
    def searches(self) -> int:
        """The number of searches that learn one task; each needs memory for the whole support."""
        return 1

    @property
    def allows_kernels(self) -> bool:
        """Whether training may use our kernels: no second derivative, and weights that all tasks share."""
        return True

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """The model that the method needs, given TAM's and the number of training tasks."""
        return spec

    def check_rows(self, rows: int, shots: int, classes: int) -> None:
        """Raise an error if a step needs more rows per task; `shots` is for methods with one model per k."""

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """Take outer step number `step` on B tasks at once; call `update` for every update of θ."""
        ...

    def phase(self, step: int) -> int:
        """Outer steps of one phase run the same operations on the same shapes, so they share a recording."""
        return 0

    def shortened(self) -> "Method":
        """The same method with the fewest inner steps that still run every operation of a training step."""
        return self

    def at_once(self, model: Model) -> int | None:
        """Most tasks to adapt or answer together, if their states need much memory; None: no limit."""
        return None

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[TaskStates]:
        """Learn B tasks at once; one trajectory yields the states for every number of steps."""
        ...

    def outcomes(self, model: Model, states: TaskStates, batch: Batch) -> Tensor:
        """Log-probabilities of all answers under these states, as `Model.outcomes` returns them.

        By default a state is a task embedding z, `[B, S]`: log p(· | x, z; θ).
        """
        return model.outcomes(model.condition(states.unsqueeze(1), batch), batch)
