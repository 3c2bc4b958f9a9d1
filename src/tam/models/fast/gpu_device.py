"""Launch Triton kernels, or only compile them, several at a time.

Triton compiles a kernel when it is first launched, one after another. A step whose launches only compile
has them all compiled side by side; a step after it then finds them ready.
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
_here = threading.local()  # `compiles`: whether launches of this thread only compile


@cache
def triton_runs_here() -> bool:
    """Whether there is Triton and a GPU that it compiles for."""
    return torch.cuda.is_available() and importlib.util.find_spec("triton") is not None


@cache
def compiles_ahead() -> bool:
    """Whether `compile_only` works here: it needs a Triton that compiles in several threads, 3.5 or newer."""
    if not triton_runs_here():
        return False
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
    """Launches in here compile their kernels, side by side, and do nothing else; at the end all are ready.

    What kernels would compute is undefined, so nothing in here may take indices from it. Backward passes run
    in the calling thread, since Triton knows only there that it is to compile in others.
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


class Beside:
    """Work on a GPU that nothing waits for until the end: what else is launched may run at the same time."""

    def __init__(self, device: torch.device) -> None:
        self._stream = _second_stream(device) if device.type == "cuda" else None
        self._started = False

    @contextmanager
    def work(self) -> Generator[None]:
        """What is launched in here starts once all that was launched before is done."""
        if self._stream is None:
            yield
            return
        self._started = True
        self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        with torch.cuda.stream(self._stream):
            yield

    def finish(self) -> None:
        """What is launched from here on starts once this work is done."""
        if self._stream is not None and self._started:
            torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)


@cache
def _second_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
