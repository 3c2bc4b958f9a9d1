"""Show the progress of a long command: one updating line on a terminal, else a line every ten seconds."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

from tam.tasks.benchmark import Progress

_LINE_EVERY = 10.0  # seconds


@contextmanager
def progress(label: str) -> Generator[Progress]:
    """Yield a function to call with `(done, total)`, which writes to standard error.

    Work that ends within a second shows nothing.
    """
    started = shown = time.monotonic()
    terminal, drawn = sys.stderr.isatty(), False

    def tell(done: int, total: int) -> None:
        nonlocal shown, drawn
        now = time.monotonic()
        if now - started < 1 or now - shown < (0.1 if terminal else _LINE_EVERY):
            return
        shown, drawn = now, True
        left = (now - started) / done * (total - done)
        line = f"{label}: {done} of {total}, {left:.0f} s left"
        text = f"\r\x1b[K{line}" if terminal else f"{line}\n"
        print(text, end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if terminal and drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
