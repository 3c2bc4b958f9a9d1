"""The start of a training step's searches: a blank z in the paper, another z in our extensions.

With warm starts, some tasks continue from their last search's z (`tam.methods.warm_starts`). With a proposer,
an encoder of the support proposes a start for the others. It is trained on what Algorithm 1 computes anyway:
the first pass's gradient with respect to z is backpropagated into the encoder.

Shapes: B tasks, S components of a task embedding.
"""

import torch

from tam.methods.objective import Gradients, Objective


class Start:
    """The start of each task's search.

    Attributes:
        z: The starting z, `[B, S]`, detached.
    """

    def __init__(self, objective: Objective) -> None:
        model, batch = objective.model, objective.batch
        self.z = model.blank(batch.tasks) if batch.start is None else batch.start
        self._encoder = model.proposer
        if self._encoder is None:
            return
        with torch.enable_grad():
            self._proposed = model.propose(batch, objective.z_rows)
        warm = (self.z != 0).any(1, keepdim=True)
        self._learns = (~warm).to(self.z.dtype)
        self.z = torch.where(warm, self.z, self._proposed.detach())

    def learn(self, found: Gradients) -> None:
        """Backpropagate the gradient at `z` into the `.grad` of the encoder's weights, if there are any."""
        if self._encoder is not None:
            weights = list(self._encoder.parameters())
            gradient = found.of_rows.sum(1) * self._learns  # over all rows, whichever z is fitted to
            torch.autograd.backward(self._proposed, gradient, inputs=weights)
