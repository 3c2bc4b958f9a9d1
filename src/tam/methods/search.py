"""The search for task embeddings: Adam on z for B tasks at once, each stopping by itself.

Shapes: B tasks, S components of a task embedding.
"""

import math

import torch
from torch import Tensor

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Search:
    """Task embeddings on their way down.

    Usage is a loop of `observe(loss at z)` and `step(gradient at z)`. No value is read back to Python,
    so that a loop can be captured as one CUDA graph.

    Attributes:
        z: Where the search is, `[B, S]`.
        best_z: Where the loss was lowest, `[B, S]`.
        active: Which tasks still move, `[B]`, as 0 or 1.
    """

    def __init__(self, start: Tensor, rate: float, patience: int | None) -> None:
        self.z = self.best_z = start
        self.rate, self.patience = rate, patience
        self.active = start.new_ones(len(start))
        self.best = torch.full_like(self.active, math.inf)
        self._worse = torch.zeros_like(self.active)
        self._mean, self._square = torch.zeros_like(start), torch.zeros_like(start)
        self._steps = 0

    def observe(self, loss: Tensor) -> None:
        """Note the loss at z, `[B]`; a task whose loss does not improve for `patience` steps stops."""
        loss = loss.detach()
        improved = loss < self.best
        self.best = torch.minimum(self.best, loss)
        self.best_z = torch.where(improved.unsqueeze(1), self.z, self.best_z)
        if self.patience is not None:
            self._worse = torch.where(improved, 0.0, self._worse + 1)
            self.active = self.active * (self._worse < self.patience)

    def step(self, gradient: Tensor) -> None:
        """Move the active tasks' z against the gradient, `[B, S]`."""
        self._steps += 1
        self._mean = torch.lerp(gradient, self._mean, BETAS[0])
        self._square = torch.lerp(gradient.square(), self._square, BETAS[1])
        mean = self._mean / (1 - BETAS[0] ** self._steps)
        square = self._square / (1 - BETAS[1] ** self._steps)
        change = self.rate * mean / (square.sqrt() + EPSILON)
        self.z = self.z - change * self.active.unsqueeze(1)
