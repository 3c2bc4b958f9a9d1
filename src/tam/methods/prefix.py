"""What does not depend on z: computed once while θ stands still."""

from dataclasses import replace

import torch

from tam.models import Batch, Model


class Prefix:
    """What the network computes for x alone: once, while θ stands still, and its backward pass once too.

    Attributes:
        batch: The batch with it.
    """

    def __init__(self, model: Model, batch: Batch) -> None:
        with torch.enable_grad():
            self._made = model.with_prefix(batch).prefix
        self.batch = batch
        if self._made is not None:
            self.batch = replace(batch, prefix=self._made.detach().requires_grad_())

    def backward(self, model: Model) -> None:
        """Add to `.grad` of θ what the gradients that have gathered in the batch's prefix make of it."""
        if self._made is not None and self.batch.prefix is not None:
            torch.autograd.backward(self._made, self.batch.prefix.grad, inputs=list(model.parameters()))
