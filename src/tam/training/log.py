"""Show how training goes: a progress bar on a terminal, a line now and then elsewhere."""

import math
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from tam.training.distribution import is_first

_LINE_EVERY = 10.0  # seconds


class TrainingLog:
    """Shows the records of a run on standard error: losses, held-out scores, and the time left.

    On a terminal it draws a progress bar, with notes and validations as lines above it. Elsewhere, in a file
    or a notebook, or if rich is not installed, it prints a plain line every ten seconds.

    Args:
        steps: The outer steps of the run.
        seconds: The limit on their time, if there is one.
    """

    def __init__(self, steps: int, seconds: float | None = None) -> None:
        self._steps, self._seconds = steps, seconds
        self._held_out = ""
        self._first = (0, 0.0)
        self._ended = False
        self._shown: float | None = None
        self._bar: Any = None

    def __enter__(self) -> "TrainingLog":
        self._bar = _bar() if sys.stderr.isatty() and is_first() else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Show every note and validation, and the losses now and then."""
        if "note" in record:
            self._print(f"note: {record['note']}")
        elif "valid" in record:
            self._held_out = _held_out(record["valid"])
            scores = (f"k={k} {_score(score)}" for k, score in record["valid"].items())
            self._print(f"step {record['step']}, validation: {', '.join(scores)}")
            if self._bar is not None and self._ended:
                self._bar.update(self._bar.task_ids[0], completed=1, line="scoring")
        elif "loss" in record:
            limit = math.inf if self._seconds is None else self._seconds
            self._ended = record["step"] >= self._steps or record["seconds"] >= limit
            self._show_losses(record["step"], record["loss"], record["seconds"])

    def _show_losses(self, done: int, loss: float, seconds: float) -> None:
        if done == 1:  # slow: it compiles
            self._first = (done, seconds)
        now, every = time.monotonic(), _LINE_EVERY if self._bar is None else 0.2
        if self._shown is not None and now - self._shown < every and done < self._steps:
            return
        self._shown = now
        where = f"step {done}" if self._seconds is not None else f"step {done} of {self._steps}"
        words = (where, f"loss {loss:.3f}", self._held_out, *self._pace(done, seconds))
        line = ", ".join(filter(None, words))
        if self._bar is None:
            self._print(line)
            return
        share = max(done / max(self._steps, 1), 0 if self._seconds is None else seconds / self._seconds)
        self._bar.update(self._bar.task_ids[0], completed=share, line=line)

    def _pace(self, done: int, seconds: float) -> Iterator[str]:
        """The speed since the first step, and the time left."""
        left = math.inf if self._seconds is None else max(0.0, self._seconds - seconds)
        if done > self._first[0]:
            of_a_step = (seconds - self._first[1]) / (done - self._first[0])
            yield f"{1 / max(of_a_step, 1e-9):.1f} steps/s"
            left = min(left, of_a_step * (self._steps - done))
        if left < math.inf:
            yield f"{_duration(left)} left"

    def _print(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False)
        else:
            print(line, file=sys.stderr, flush=True)


def _bar() -> Any:
    """A progress bar on standard error, removed at the end; None if rich is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
    except ImportError:
        return None
    text = TextColumn("{task.fields[line]}", markup=False)
    bar = Progress(BarColumn(bar_width=20), text, console=Console(stderr=True), transient=True)
    bar.add_task("", total=1, line="")
    bar.start()
    return bar


def _held_out(scores: Mapping[str, Mapping[str, float | None]]) -> str:
    """The loss and accuracy of the validation tasks at the largest k."""
    k = max(scores, key=int)
    loss = scores[k].get("loss")
    shown = "infinite" if loss is None else f"{loss:.3f}"
    return f"held out {shown} ({scores[k]['accuracy']:.0%} at k={k})"


def _score(score: Mapping[str, float | None]) -> str:
    perplexity = "infinite" if score["perplexity"] is None else f"{score['perplexity']:.2f}"
    return f"{score['accuracy']:.0%} (perplexity {perplexity})"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
