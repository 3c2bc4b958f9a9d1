"""What training shows while it runs: a progress line on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Mapping
from typing import Any

_LINE_EVERY = 10.0  # seconds


class TrainingLog:
    """Shows the records of a training, on standard error."""

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
        """Show every note and validation, and the losses now and then."""
        if "note" in record:
            self._print(f"note: {record['note']}", keep=True)
        elif "valid" in record:
            scores = (f"k={k} {_score(score)}" for k, score in record["valid"].items())
            self._print(f"step {record['step']}, validation: {', '.join(scores)}", keep=True)
        else:
            self._show_losses(record["step"], record["loss"], record["seconds"])

    def _show_losses(self, done: int, loss: float, seconds: float) -> None:
        now = time.monotonic()
        if now - self._shown < (0.2 if self._bar else _LINE_EVERY) and done < self._steps:
            return
        self._shown = now
        left = seconds / done * (self._steps - done)
        time_left = f"{left:.0f} s" if left < 120 else f"{left / 60:.0f} min"
        speed = f"{done / max(seconds, 1e-9):.1f} steps/s"
        self._print(f"step {done} of {self._steps}, loss {loss:.3f}, {speed}, {time_left} left", keep=False)

    def _print(self, line: str, *, keep: bool) -> None:
        start = "\r\x1b[K" if self._bar else ""
        print(f"{start}{line}", end="" if self._bar and not keep else "\n", file=sys.stderr, flush=True)


def _score(score: Mapping[str, float | None]) -> str:
    perplexity = "infinite" if score["perplexity"] is None else f"{score['perplexity']:.2f}"
    return f"{score['accuracy']:.0%} (perplexity {perplexity})"
