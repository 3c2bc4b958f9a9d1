"""Progress of a long command: a bar on a terminal, now and then a line elsewhere."""

import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

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


class TrainingLog:
    """Shows training: one line that moves on a terminal, a line every ten seconds elsewhere."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._bar = sys.stderr.isatty()
        self._shown = -_LINE_EVERY

    def __enter__(self) -> "TrainingLog":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Show a record of the losses now and then, and every validation."""
        if "valid" in record:
            scores = (f"k={k} {self._score(score)}" for k, score in record["valid"].items())
            self._print(f"step {record['step']}, validation: {', '.join(scores)}", keep=True)
            return
        now = time.monotonic()
        if now - self._shown < (0.2 if self._bar else _LINE_EVERY) and record["step"] < self._steps:
            return
        self._shown = now
        done, seconds = record["step"], record["seconds"]
        left = seconds / done * (self._steps - done)
        self._print(
            f"step {done} of {self._steps}, loss {record['loss']:.3f}, "
            f"{done / max(seconds, 1e-9):.1f} steps/s, {_duration(left)} left",
            keep=False,
        )

    def _print(self, line: str, *, keep: bool) -> None:
        start = "\r\x1b[K" if self._bar else ""
        print(f"{start}{line}", end="" if self._bar and not keep else "\n", file=sys.stderr, flush=True)

    @staticmethod
    def _score(score: Mapping[str, float]) -> str:
        return f"{score['accuracy']:.0%} (perplexity {score['perplexity']:.2f})"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
