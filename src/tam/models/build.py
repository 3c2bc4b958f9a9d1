"""From a spec to a network."""

import torch

from tam.models.compare import CompareModel
from tam.models.embed import EmbedModel
from tam.models.model import Model
from tam.models.pairs import PairsModel
from tam.models.spec import ModelSpec, Purpose

_MODELS: dict[Purpose, type[Model]] = {
    "answer": Model,
    "answer from pairs": PairsModel,
    "compare": CompareModel,
    "embed": EmbedModel,
}


def build_model(spec: ModelSpec, generator: torch.Generator) -> Model:
    """Build a model on the generator's device, every weight drawn from the generator."""
    return _MODELS[spec.purpose](spec, generator)
