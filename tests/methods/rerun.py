"""A double of a CUDA graph for tests without a GPU."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from tam.methods.replay import CudaRecorder


class OnGpu(Tensor):
    """A tensor that says it is on a GPU."""

    is_cuda = True


class Rerun(CudaRecorder):
    """Runs a body again where a recording would be replayed.

    As with a recording, Python is as it was when the body was recorded, and tensors are the same ones: only
    what these hold differs from one time to the next. Recording the body changes nothing.
    """

    _body: Callable[[], None]
    _attributes: dict[str, Any]

    def __init__(self, owner: object) -> None:
        self._owner = owner
        self.calls: list[str] = []

    def run(self, body: Callable[[], None]) -> None:
        self.calls.append("run")
        body()

    def record(self, body: Callable[[], None]) -> None:
        self.calls.append("record")
        self._body, self._attributes = body, dict(vars(self._owner))
        tensors = [value for value in self._attributes.values() if isinstance(value, Tensor)]
        before = [tensor.clone() for tensor in tensors]
        body()
        for tensor, value in zip(tensors, before, strict=True):
            tensor.copy_(value)

    def replay(self) -> None:
        self.calls.append("replay")
        vars(self._owner).clear()
        vars(self._owner).update(self._attributes)
        self._body()

    def free(self) -> None:
        self.calls.append("free")
