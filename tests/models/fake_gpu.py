"""Have Triton compile for a Hopper GPU that need not be there; launches do nothing."""

from types import SimpleNamespace
from typing import Any

import torch
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from tam.models.fast import engine, gpu_blocks

CAPABILITY = 90


class Driver:
    """What Triton asks of a GPU's driver when it compiles a kernel and makes it ready."""

    launcher_cls = staticmethod(lambda _source, _metadata: lambda *_: None)
    utils = SimpleNamespace(
        get_device_properties=lambda _device: {"max_shared_mem": 227 * 1024},
        load_binary=lambda *_: (0, 0, 0, 0, 1024),
    )

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", CAPABILITY, 32)


def use_kernels(dtypes: tuple[torch.dtype, ...] = (torch.float32,)) -> None:
    """Have models with weights of these types use the GPU engine, wherever they are."""
    engine.engine = lambda tensor: "gpu" if tensor.dtype in dtypes else "plain"
    gpu_blocks.takes = lambda *_: True


def install() -> list[Any]:
    """Have Triton compile for that GPU; what is returned grows by every kernel's metadata."""
    compiled: list[Any] = []
    driver.set_active(Driver())  # pyright: ignore[reportArgumentType]

    def note(*, metadata: Any, **_: Any) -> None:
        compiled.append(metadata)

    knobs.compilation.listener = note
    return compiled
