"""Handling Ctrl-C and SIGTERM."""

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any


@contextmanager
def on_interrupts(handler: Callable[[int, Any], Any]) -> Generator[dict[signal.Signals, Any]]:
    """Call `handler` on Ctrl-C and SIGTERM; yield the previous handlers, which are restored at the end."""
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield before
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
