"""The device and precision that a model computes in: the same in training, adaptation and prediction."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Literal, ParamSpec, TypeVar

import torch

if TYPE_CHECKING:
    from tam.models.model import Model

Precision = Literal["float32", "bfloat16"]

M = TypeVar("M", bound="Model")
P = ParamSpec("P")
R = TypeVar("R")


def in_own_precision(method: Callable[Concatenate[M, P], R]) -> Callable[Concatenate[M, P], R]:
    """Decorate a method of `Model` so that it computes in the model's `precision`."""

    @wraps(method)
    def call(model: M, *args: P.args, **kwargs: P.kwargs) -> R:
        with autocast(model):
            return method(model, *args, **kwargs)

    return call


def autocast(model: "Model") -> AbstractContextManager[object]:
    """Autocast to bfloat16 if the model is on a GPU and has this precision; else do nothing.

    Weights in bfloat16 are not cached, as the cache would become stale when θ is updated.
    """
    if model.precision == "bfloat16" and model.places.is_cuda:
        return torch.autocast("cuda", torch.bfloat16, cache_enabled=False)
    return nullcontext()


def place_model(model: "Model", device: torch.device | str, precision: Precision) -> "Model":
    """Move a model to its device and set the precision that it computes in.

    On a GPU this allows TF32 in float32 products. A device with an index also becomes the current one, where
    Triton launches its kernels.
    """
    device = torch.device(device)
    model.precision = precision
    if device.type == "cuda":
        if ":" in str(device):
            torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    return model.to(device)
