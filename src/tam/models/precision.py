"""The precision that a model computes in: the same in training, validation, adaptation and prediction."""

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
