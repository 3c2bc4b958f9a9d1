"""An outer step as one CUDA graph: recorded once, then replayed without Python.

A step reads nothing back and all its shapes are fixed, so the draw of the batch, every inner step and both
optimisers fit into one recording. The first steps run eagerly, so that libraries can initialise.
"""

from collections.abc import Callable

import torch

from tam.methods import Losses
from tam.methods.replay import CudaRecorder

_EAGER_STEPS = 3


class CapturedStep:
    """Calls `body` a few times, then records it, then replays the recording."""

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
