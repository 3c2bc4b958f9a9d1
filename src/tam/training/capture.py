"""An outer step as one CUDA graph: recorded once, then replayed without Python.

A step reads nothing back and all its shapes are fixed, so the draw of the batch, every inner step and
both optimisers are one recording. The first steps run eagerly, which also lets libraries set up.
"""

from collections.abc import Callable

import torch

from tam.methods import Losses

_EAGER_STEPS = 3


class CapturedStep:
    """Calls `body` a few times, then records it, then replays the recording."""

    def __init__(self, body: Callable[[], Losses], generator: torch.Generator) -> None:
        self._body, self._generator = body, generator
        self._calls = 0
        self._stream = torch.cuda.Stream()
        self._graph: torch.cuda.CUDAGraph | None = None
        self._losses: Losses | None = None

    def __call__(self) -> Losses:
        """One outer step; the losses are overwritten by the next."""
        self._calls += 1
        if self._calls <= _EAGER_STEPS:
            return self._eager()
        if self._graph is None or self._losses is None:
            self._graph = torch.cuda.CUDAGraph()
            self._graph.register_generator_state(self._generator)
            with torch.cuda.graph(self._graph, stream=self._stream):
                self._losses = Losses(*(value.detach() for value in self._body().means))
        self._graph.replay()
        return self._losses

    def _eager(self) -> Losses:
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            losses = Losses(*(value.detach().clone() for value in self._body().means))
        torch.cuda.current_stream().wait_stream(self._stream)
        return losses
