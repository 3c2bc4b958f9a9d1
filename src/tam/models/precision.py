"""What a model computes in, the same in training, validation, adaptation and prediction."""

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
    """A method of a model that computes in the model's `precision`."""

    @wraps(method)
    def call(model: M, *args: P.args, **kwargs: P.kwargs) -> R:
        with autocast(model):
            return method(model, *args, **kwargs)

    return call


def autocast(model: "Model") -> AbstractContextManager[object]:
    """Matrix products are in bfloat16, if the model is on a GPU and of this precision.

    Weights that were cast are not cached: the cache would outlive a move of θ.
    """
    if model.precision == "bfloat16" and model.places.is_cuda:
        return torch.autocast("cuda", torch.bfloat16, cache_enabled=False)
    return nullcontext()
