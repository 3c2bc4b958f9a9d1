"""A network that gives the features of an input instead of an answer."""

from torch import Tensor

from tam.models.batch import Batch
from tam.models.model import Model
from tam.models.precision import in_own_precision


class EmbedModel(Model):
    """x ↦ its features: what `Model` reads its class from, without the layer that makes a class of it."""

    @in_own_precision
    def forward(self, z: Tensor | None, batch: Batch) -> Tensor:
        """The features of every input, `[B, N, d]`."""
        features = self._features(self.condition(z, batch), batch)
        return features.unflatten(0, (batch.tasks, batch.rows))

    def outcomes(self, condition: object, batch: Batch) -> Tensor:
        """An error: what the features say about answers is the method's to tell."""
        raise ValueError("a network to embed gives features, and no answers")
