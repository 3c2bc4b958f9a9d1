"""Progress of a long command: a bar on a terminal, now and then a line elsewhere."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

from tam.tasks.benchmark import Progress

_LINE_EVERY = 10.0  # seconds


@contextmanager
def progress(label: str) -> Generator[Progress]:
    """Yield a function to be told `(done, total)`; it writes to standard error.

    Nothing is shown for work that ends within a second.
    """
    started = shown = time.monotonic()
    bar = sys.stderr.isatty()
    drawn = False

    def tell(done: int, total: int) -> None:
        nonlocal shown, drawn
        now = time.monotonic()
        if now - started < 1 or now - shown < (0.1 if bar else _LINE_EVERY):
            return
        shown, drawn = now, True
        left = (now - started) / done * (total - done)
        line = f"{label}: {done} of {total}, {left:.0f} s left"
        print(f"\r\x1b[K{line}" if bar else line, end="" if bar else "\n", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if bar and drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
