"""The loss of one task, its embedding as a parameter, and the gradient of θ.

Shapes: S components of a task embedding.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from tam.models import Batch, Model


def loss_of(model: nn.Module, z: Tensor | None, task: Batch) -> Tensor:
    """The loss of one task, at z `[1, S]` if the model has one."""
    log_prob = model(None if z is None else z.unsqueeze(1), task)
    return F.nll_loss(log_prob.flatten(0, 1), task.y.flatten())


class Context(nn.Module):
    """A task's embedding as the only parameter."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.z = nn.Parameter(model.blank(1))


def gradients(model: nn.Module) -> list[Tensor]:
    """The gradient of θ accumulated by `backward`."""
    return [weight.grad for weight in model.parameters() if weight.grad is not None]
