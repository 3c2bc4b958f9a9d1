"""Where the searches of a training step start: at a blank z in the paper, elsewhere in our extensions.

With warm starts, some tasks continue from the z where their last visit ended (`tam.methods.warm_starts`).
With a proposer, an encoder of the support proposes where the others start. It is trained by what Algorithm 1
computes anyway: the gradient in z of the first pass is propagated into the encoder.

Shapes: B tasks, S components of a task embedding.
"""

import torch

from tam.methods.objective import Gradients, Objective


class Start:
    """Where the search for each task's embedding starts.

    Attributes:
        z: `[B, S]`, without a graph.
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
        """Propagate the gradient at `z` into the `.grad` of the encoder's weights, if there is an encoder."""
        if self._encoder is not None:
            weights = list(self._encoder.parameters())
            gradient = found.of_rows.sum(1) * self._learns  # over all rows, whichever z follows
            torch.autograd.backward(self._proposed, gradient, inputs=weights)
