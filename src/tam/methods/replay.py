"""Repeat GPU work of fixed shapes as a CUDA graph: recorded once, then replayed without Python."""

from collections.abc import Callable, Iterator
from functools import cache
from threading import RLock

import torch
from torch import Tensor

from tam.methods.method import Losses

_EAGER = 2  # runs before recording, in which libraries initialise
_EAGER_STEPS = 3  # the same for outer steps
_MOST_QUEUED = 16  # replays queued at a time
_FEWEST = 8  # with fewer repetitions, recording costs more than it saves
_LOCK = RLock()  # torch can record only one graph at a time in a process


class CudaRecorder:
    """Records a function's GPU work on a side stream, and replays it on the same tensors without Python.

    Tensors made while recording keep their addresses in every replay.
    """

    def __init__(self, generator: torch.Generator | None = None) -> None:
        self._stream, self._graph = _stream_of(torch.cuda.current_device()), torch.cuda.CUDAGraph()
        self._generator = generator  # of the recorded work's random numbers, if it draws any
        self._replays = 0

    def run(self, body: Callable[[], None]) -> None:
        """Run `body` on the side stream, without recording."""
        self._stream.wait_stream(torch.cuda.current_stream())
        with _LOCK, torch.cuda.stream(self._stream):
            body()
        torch.cuda.current_stream().wait_stream(self._stream)

    def record(self, body: Callable[[], None]) -> None:
        """Record `body` without running it; other threads may use the GPU meanwhile."""
        if self._generator is not None:
            self._graph.register_generator_state(self._generator)
        with _LOCK, torch.cuda.graph(self._graph, stream=self._stream, capture_error_mode="thread_local"):
            body()

    def replay(self) -> None:
        """Replay the recording on the current stream; only a few replays are queued at a time."""
        self._graph.replay()
        self._replays += 1
        if self._replays % _MOST_QUEUED == 0:  # so that a stopped process soon leaves the GPU
            torch.cuda.current_stream().synchronize()

    def free(self) -> None:
        """Drop the recording. Torch keeps its memory in a pool of its own until the cache is emptied."""
        self._graph.reset()
        torch.cuda.empty_cache()


@cache
def _stream_of(device: int) -> torch.cuda.Stream:
    """One side stream for all recordings on a GPU, since cuBLAS keeps a workspace for each stream."""
    return torch.cuda.Stream(device)


class CapturedStep:
    """An outer step as one CUDA graph: takes a few steps, then records one and replays the recording.

    A step reads nothing back and all its shapes are fixed, so the draw of the batch, every inner step and
    both optimisers fit into one recording.
    """

    _losses: Losses

    def __init__(self, body: Callable[[], Losses], generator: torch.Generator) -> None:
        self._step, self._recorder = body, CudaRecorder(generator)
        self._calls = 0

    def __call__(self) -> Losses:
        """Take one outer step; the next one overwrites the losses."""
        self._calls += 1
        if self._calls <= _EAGER_STEPS:
            self._recorder.run(self._body)
            return self._losses
        if self._calls == _EAGER_STEPS + 1:
            self._recorder.record(self._body)
        self._recorder.replay()
        return self._losses

    def _body(self) -> None:
        self._losses = Losses(*(value.detach() for value in self._step().means))


def recorder_for(tensor: Tensor, times: int) -> CudaRecorder | None:
    """A recorder for work repeated on `tensor`'s device; None if recording is impossible or not worth it."""
    if not tensor.is_cuda or times < _FEWEST or torch.cuda.is_current_stream_capturing():
        return None
    return CudaRecorder()


def repeat(owner: object, change: Callable[[], None], times: int, recorder: CudaRecorder) -> Iterator[int]:
    """Call `change` repeatedly through a recording; yield 0, 1, … after each call.

    `change` may carry state from one call to the next only in tensors that are attributes of `owner`. Each
    gets a fixed address, to which the new value is copied after every call.
    """
    state = {name: value.clone() for name, value in vars(owner).items() if isinstance(value, Tensor)}
    vars(owner).update(state)

    def body() -> None:
        change()
        for name, fixed in state.items():
            if (made := getattr(owner, name)) is not fixed:
                fixed.copy_(made)
        vars(owner).update(state)

    with _LOCK:
        for number in range(times):
            if number < _EAGER:
                recorder.run(body)
            else:
                if number == _EAGER:
                    recorder.record(body)
                recorder.replay()
            yield number
        recorder.free()
