"""Whether kernels run on a GPU; launching them, compiling them ahead, and running them on a second stream.

Triton compiles each kernel at its first launch, one after another. A step under `compile_only` compiles all
of its kernels in parallel, so that the next step finds them ready.
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
_ON_CHIP = 228 * 1024  # bytes of shared memory per multiprocessor; one program may have 1024 fewer
_thread = threading.local()  # `compiles`: whether launches of this thread only compile


@cache
def triton_runs_here() -> bool:
    """Whether Triton and a GPU are available."""
    return torch.cuda.is_available() and importlib.util.find_spec("triton") is not None


@cache
def blocks_run_on(device: torch.device) -> bool:
    """Whether Triton has tensor descriptors, and this GPU the shared memory for blocks: Hopper or similar."""
    if not triton_runs_here() or torch.cuda.get_device_capability(device) < (9, 0):
        return False
    memory = torch.cuda.get_device_properties(device).shared_memory_per_multiprocessor
    return memory >= _ON_CHIP and importlib.util.find_spec("triton.tools.tensor_descriptor") is not None


@cache
def has_compile_only() -> bool:
    """Whether `compile_only` works: it needs Triton 3.5 or newer, which compiles in several threads."""
    import triton

    return hasattr(triton, "AsyncCompileMode")


def launch(name: str, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Launch a kernel of `tam.models.fast.kernels`.

    Under `compile_only` it is only compiled, and its results are undefined.
    """
    from tam.models.fast import kernels

    kernel: Any = getattr(kernels, name)
    if getattr(_thread, "compiles", False):
        kernel.warmup(*arguments, grid=grid, **constants)
    else:
        kernel[grid](*arguments, **constants)


@contextmanager
def compile_only() -> Generator[None]:
    """Only compile the kernels launched in this context, in parallel; at its end all are ready.

    Their results are undefined, so they must not be used as indices. Backward passes run in the calling
    thread, because only there does Triton know that it should compile in other threads.
    """
    from triton import AsyncCompileMode

    device = torch.cuda.current_device() if torch.cuda.is_available() else -1
    pool = _Compilers(_THREADS, initializer=torch.cuda.set_device, initargs=(device,))
    with torch.autograd.set_multithreading_enabled(False), pool, AsyncCompileMode(pool):
        _thread.compiles = True
        try:
            yield
        finally:
            _thread.compiles = False


class _Compilers(ThreadPoolExecutor):
    """Threads that compile a kernel and then build its launcher, so that it is ready to launch."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(_make_ready, fn, *args, **kwargs)


def _make_ready(compile_kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    kernel = compile_kernel(*args, **kwargs)
    _ = kernel.run  # compiles the launcher and loads the binary
    return kernel


class SideStream:
    """A second stream, whose work may overlap with other work."""

    def __init__(self, device: torch.device) -> None:
        self._stream = _second_stream(device) if device.type == "cuda" else None
        self._started = False

    @contextmanager
    def work(self) -> Generator[None]:
        """Launch on the second stream in this context; the work starts after everything launched so far."""
        if self._stream is None:
            yield
            return
        self._started = True
        self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        with torch.cuda.stream(self._stream):
            yield

    def finish(self) -> None:
        """Make everything launched from now on wait for the second stream."""
        if self._stream is not None and self._started:
            torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)


@cache
def _second_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
