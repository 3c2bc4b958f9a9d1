"""Functions of small tensors as one kernel or two, where a GPU would else be given a dozen."""

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def compiled_on_gpu(function: Callable[P, R]) -> Callable[P, R]:
    """The function, compiled if its first argument is on a GPU. It takes tensors and None, by position."""

    @cache
    def compiled() -> Callable[P, R]:
        return torch.compile(function, dynamic=True)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        first = args[0]
        assert isinstance(first, Tensor)
        return (compiled() if first.is_cuda else function)(*args, **kwargs)

    return call
