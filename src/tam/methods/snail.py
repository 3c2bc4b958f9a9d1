"""SNAIL-like: a transformer that reads all input–output pairs of the support before the query.

Mishra, Rohaninejad, Chen, Abbeel: A Simple Neural Attentive Meta-Learner, ICLR 2018; with a transformer
instead of its convolutions, as in the TAM paper. One model per k; nothing is fitted at test time.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from tam.methods.episodes import EpisodicMethod, in_parts, unknown_primitive
from tam.models import Batch, Model
from tam.models.spec import Purpose


@dataclass(frozen=True, kw_only=True)
class Snail(EpisodicMethod):
    """SNAIL with its settings; a task's state is its support."""

    version: ClassVar[int] = 2
    purpose: ClassVar[Purpose] = "answer from pairs"

    def log_prob(self, model: Model, query: Batch) -> Tensor:
        """Log-probabilities of the answers, by a network that reads the support's pairs."""
        return model(unknown_primitive(model, query), query)

    def outcomes(self, model: Model, states: Tensor, batch: Batch) -> Tensor:
        """Log p(· | x, the support; θ)."""

        def answers(query: Batch) -> Tensor:
            return model.outcomes(model.condition(unknown_primitive(model, query), query), query)

        seen = states.shape[1]  # a packed support has about one number per place
        asking = batch.rows * batch.places
        return in_parts(model, states, batch, model.spec.heads * seen * (seen + asking), answers)
