"""From a spec to a network."""

import torch

from tam.models.compare import CompareModel
from tam.models.embed import EmbedModel
from tam.models.model import Model
from tam.models.pairs import PairsModel
from tam.models.precision import Precision
from tam.models.spec import ModelSpec, Purpose
from tam.models.transformer import Transformer

_MODELS: dict[Purpose, type[Model]] = {
    "answer": Model,
    "answer from pairs": PairsModel,
    "compare": CompareModel,
    "embed": EmbedModel,
}


def build_model(spec: ModelSpec, generator: torch.Generator) -> Model:
    """Build a model on the generator's device, every weight drawn from the generator."""
    return _MODELS[spec.purpose](spec, generator)


def place_model(model: Model, device: torch.device | str, precision: Precision) -> Model:
    """Move a model to where it is used, in training or after it: there it computes in the same way.

    On a GPU it may then use kernels that have no second derivative, float32 products are made in TF32, and a
    device with a number becomes the current one, since kernels run on that.
    """
    device = torch.device(device)
    model.precision = precision
    if device.type == "cuda":
        if ":" in str(device):
            torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
        model.fused = isinstance(model.backbone, Transformer)
    return model.to(device)
