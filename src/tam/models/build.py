"""From a spec to a network."""

import torch

from tam.models.compare import CompareModel
from tam.models.embed import EmbedModel
from tam.models.model import Model
from tam.models.precision import Precision
from tam.models.spec import ModelSpec, Purpose
from tam.models.support_networks import PairsModel
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
    """Move a model to its device and set how it computes there: in training and in every later use.

    On a GPU this allows kernels without a second derivative and TF32 in float32 products. A device with a
    number also becomes the current one, since Triton launches kernels there.
    """
    device = torch.device(device)
    model.precision = precision
    if device.type == "cuda":
        if ":" in str(device):
            torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
        model.fused = isinstance(model.backbone, Transformer)
    return model.to(device)
