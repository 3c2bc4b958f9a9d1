"""Which kernels run on a GPU, and how they are launched, compiled ahead, and run on a second stream.

Triton compiles a kernel when it is first launched, one after another. A step under `compile_only` has all of
its kernels compiled side by side; a step after it then finds them ready.
"""

import importlib.util
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

_THREADS = 16
_ON_CHIP = 228 * 1024  # bytes that programs share, of which one may have 1024 less
_here = threading.local()  # `compiles`: whether launches of this thread only compile


@cache
def triton_runs_here() -> bool:
    """Whether there is Triton and a GPU that it compiles for."""
    return torch.cuda.is_available() and importlib.util.find_spec("triton") is not None


@cache
def blocks_run_on(device: torch.device) -> bool:
    """Whether Triton has tensor descriptors, and this GPU the on-chip memory for blocks: Hopper, or alike."""
    if not triton_runs_here() or torch.cuda.get_device_capability(device) < (9, 0):
        return False
    memory = torch.cuda.get_device_properties(device).shared_memory_per_multiprocessor
    return memory >= _ON_CHIP and importlib.util.find_spec("triton.tools.tensor_descriptor") is not None


@cache
def has_compile_only() -> bool:
    """Whether `compile_only` works: it needs a Triton that compiles in several threads, 3.5 or newer."""
    import triton

    return hasattr(triton, "AsyncCompileMode")


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Launch a Triton kernel; under `compile_only`, have it compiled and leave its results undefined."""
    if getattr(_here, "compiles", False):
        kernel.warmup(*arguments, grid=grid, **constants)
    else:
        kernel[grid](*arguments, **constants)


@contextmanager
def compile_only() -> Generator[None]:
    """Only compile the kernels that are launched in this context, side by side; at its end all are ready.

    Their results are undefined, so nothing may use them as indices. Backward passes run in the calling
    thread: only there does Triton know that it should compile in others.
    """
    from triton import AsyncCompileMode

    device = torch.cuda.current_device() if torch.cuda.is_available() else -1
    pool = _Compilers(_THREADS, initializer=torch.cuda.set_device, initargs=(device,))
    with torch.autograd.set_multithreading_enabled(False), pool, AsyncCompileMode(pool):
        _here.compiles = True
        try:
            yield
        finally:
            _here.compiles = False


class _Compilers(ThreadPoolExecutor):
    """Threads that make a kernel ready to launch: after Triton's own compilation they build its launcher."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(_make_ready, fn, *args, **kwargs)


def _make_ready(compile_kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    kernel = compile_kernel(*args, **kwargs)
    _ = kernel.run  # compiles the launcher and loads the binary
    return kernel


class SideStream:
    """A second stream: other work may run at the same time as what is launched on it."""

    def __init__(self, device: torch.device) -> None:
        self._stream = _second_stream(device) if device.type == "cuda" else None
        self._started = False

    @contextmanager
    def work(self) -> Generator[None]:
        """Launch on the second stream in this context, after everything launched so far."""
        if self._stream is None:
            yield
            return
        self._started = True
        self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        with torch.cuda.stream(self._stream):
            yield

    def finish(self) -> None:
        """Have what is launched from here on wait for the second stream."""
        if self._stream is not None and self._started:
            torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)


@cache
def _second_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
