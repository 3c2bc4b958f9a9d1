"""Work that is repeated with fixed shapes, as a CUDA graph: recorded once, then replayed without Python."""

from collections.abc import Callable, Iterator
from typing import Protocol

import torch
from torch import Tensor

_EAGER = 2  # times that libraries have to set up
_FEWEST = 8  # times from which a recording pays


class Recorder(Protocol):
    """Records work, and replays it: on the same tensors, without a look at anything in Python."""

    def run(self, body: Callable[[], None]) -> None:
        """Do the work, in the place where it is recorded."""
        ...

    def record(self, body: Callable[[], None]) -> None:
        """Record the work, without doing it."""
        ...

    def replay(self) -> None:
        """Do the work that was recorded."""
        ...

    def free(self) -> None:
        """Give up the recording and its memory."""
        ...


class CudaRecorder:
    """Records on a stream of its own, in which all tensors that the work makes have fixed addresses."""

    def __init__(self, generator: torch.Generator | None = None) -> None:
        self._stream, self._graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        self._generator = generator  # of the work's random numbers, if it draws some

    def run(self, body: Callable[[], None]) -> None:
        """Do the work on that stream."""
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            body()
        torch.cuda.current_stream().wait_stream(self._stream)

    def record(self, body: Callable[[], None]) -> None:
        """Record the work. What other threads do on the GPU meanwhile is no error."""
        if self._generator is not None:
            self._graph.register_generator_state(self._generator)
        with torch.cuda.graph(self._graph, stream=self._stream, capture_error_mode="thread_local"):
            body()

    def replay(self) -> None:
        """Do the work that was recorded."""
        self._graph.replay()

    def free(self) -> None:
        """Give up the recording; torch keeps memory of recordings apart until its cache is emptied."""
        self._graph.reset()
        torch.cuda.empty_cache()


def recorder_for(tensor: Tensor, times: int) -> Recorder | None:
    """How to record work on such tensors that is done so many times; None where it is better just done."""
    if not tensor.is_cuda or times < _FEWEST or torch.cuda.is_current_stream_capturing():
        return None
    return CudaRecorder()


def repeat(owner: object, change: Callable[[], None], times: int, recorder: Recorder) -> Iterator[int]:
    """Call `change` so many times, by a recording; yields the number of each time once it is done.

    All that `change` leaves for the next time must be tensors that are attributes of `owner`. These become
    tensors of fixed addresses, and what `change` makes of them is copied there.
    """
    state = {name: value.clone() for name, value in vars(owner).items() if isinstance(value, Tensor)}
    vars(owner).update(state)

    def body() -> None:
        change()
        for name, fixed in state.items():
            if (made := getattr(owner, name)) is not fixed:
                fixed.copy_(made)
        vars(owner).update(state)

    try:
        for number in range(times):
            if number < _EAGER:
                recorder.run(body)
            else:
                if number == _EAGER:
                    recorder.record(body)
                recorder.replay()
            yield number
    finally:
        recorder.free()
