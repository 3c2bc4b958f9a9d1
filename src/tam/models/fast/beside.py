"""Work on a GPU beside other work."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

import torch


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
