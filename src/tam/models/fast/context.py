"""Contexts that restrict the engines, and the private functions of torch that they need."""

import os
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")

_C: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_PRIVATE = (
    *("_stash_obj_in_tls", "_is_key_in_tls", "_get_obj_in_tls"),
    *("_are_functorch_transforms_active", "_current_graph_task_id"),
)
_PRIVATE_FUNCTORCH = ("get_interpreter_stack", "is_batchedtensor", "TransformType")

_plain = ContextVar("tam: use plain code", default=os.environ.get("TAM_PLAIN") == "1")
_twice = ContextVar("tam: keep second derivatives", default=False)
_SKIP = "tam: depth of no_weight_gradients"


def plain() -> AbstractContextManager[None]:
    """Turn both engines off in this context; the environment variable `TAM_PLAIN=1` does so everywhere."""
    return having(_plain, True)


def twice_differentiable() -> AbstractContextManager[None]:
    """Use only code with a second derivative in this context; the GPU engine has only a first."""
    return having(_twice, True)


@contextmanager
def having(variable: ContextVar[T], value: T) -> Generator[None]:
    """Give a variable this value in this context."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


@contextmanager
def no_weight_gradients() -> Generator[None]:
    """Skip weight gradients in this context; use it when only ∂L/∂z is needed.

    Gradients that the engines skip are None. Cached x, which does not depend on z, gets no gradient either.
    Plain code skips nothing.
    """
    if not has_private_functions():
        yield
        return
    depth = _skip_depth()
    _C._stash_obj_in_tls(_SKIP, depth + 1)
    try:
        yield
    finally:
        _C._stash_obj_in_tls(_SKIP, depth)


def wants_weight_gradients() -> bool:
    """Whether the thread that started this backward pass wants weight gradients.

    Autograd runs GPU work in its own threads. Torch passes them the objects that it stashed for the thread
    that started the pass; a `ContextVar` would not be passed on.
    """
    return not has_private_functions() or _skip_depth() == 0


def _skip_depth() -> int:
    return _C._get_obj_in_tls(_SKIP) if _C._is_key_in_tls(_SKIP) else 0


def is_plain() -> bool:
    """Whether the engines are off: switched off, or torch lacks a private function that they need."""
    return _plain.get() or not has_private_functions()


def once_differentiable_on_gpu(tensor: Tensor) -> bool:
    """Whether GPU code with a first derivative only, and weights that all tasks share, may be used here."""
    return tensor.is_cuda and not is_plain() and not _twice.get() and not in_transform()


def check_first_derivative() -> None:
    """Raise an error if this backward pass will be differentiated; for code with a first derivative only."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "kernels have no second derivative: compute the loss under tam.models.twice_differentiable()"
        )


def has_private_functions() -> bool:
    """Whether this torch has all private functions that the engines use."""
    functorch = getattr(_C, "_functorch", None)
    return all(hasattr(_C, name) for name in _PRIVATE) and all(
        hasattr(functorch, name) for name in _PRIVATE_FUNCTORCH
    )


def in_transform() -> bool:
    """Whether this runs under `vmap` or another transform of `torch.func`."""
    are_active = getattr(_C, "_are_functorch_transforms_active", None)
    return are_active is not None and are_active()


def only_vmap_batches(tensor: Tensor) -> bool:
    """Whether a single `vmap` is the only active transform, and batches this tensor."""
    functorch = _C._functorch
    levels = [level.key() for level in functorch.get_interpreter_stack()]
    return functorch.is_batchedtensor(tensor) and levels == [functorch.TransformType.Vmap]


def backward_pass() -> int:
    """The id of the current backward pass."""
    return _C._current_graph_task_id()
