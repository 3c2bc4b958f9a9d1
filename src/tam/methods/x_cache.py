"""What does not depend on z: computed once while θ stands still."""

from dataclasses import replace

import torch

from tam.models import Batch, Model


class CachedX:
    """What the network computes for x alone: once, while θ stands still, and its backward pass once too.

    Attributes:
        batch: The batch with it.
    """

    def __init__(self, model: Model, batch: Batch) -> None:
        with torch.enable_grad():
            self._made = model.with_x_cache(batch).x_cache
        self.batch = replace(batch, x_cache=tuple(part.detach().requires_grad_() for part in self._made))

    def backward(self, model: Model) -> None:
        """Add to `.grad` of θ what the gradients that have gathered in the batch's `x_cache` make of it."""
        if self._made:
            gradients = [part.grad for part in self.batch.x_cache]
            torch.autograd.backward(self._made, gradients, inputs=list(model.parameters()))
