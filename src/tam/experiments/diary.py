"""The times and validations of a run, over all processes that worked on it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tam.io import read_json
from tam.training.checkpoint import write_json


class Diary:
    """The clock and the validations of a run, stored in a file beside its checkpoint.

    A process that never completes an outer step does not count.
    """

    def __init__(self, file: Path, started: float) -> None:
        known = read_json(file) if file.exists() else {}
        self._file, self._started = file, started
        self._before: float = known.get("wall_seconds", 0.0)
        self._stepped = False
        self.processes: int = known.get("processes", 0)
        self.first_step_seconds: float | None = known.get("first_step_seconds")
        times = known.get("step_times") or {}
        self.step_times: dict[int, float] | None = {int(phase): ms for phase, ms in times.items()} or None
        self.curve: list[dict[str, Any]] = known.get("curve", [])
        self.wall_seconds: float | None = known.get("finished_seconds")

    def seconds(self) -> float:
        """Seconds spent so far, in this process and in earlier ones."""
        return round(self._before + time.time() - self._started, 2)

    def note(self, record: Mapping[str, Any]) -> None:
        """Add a record of the training."""
        if "step" not in record:
            return
        if not self._stepped:
            self._stepped = True
            self.processes += 1
            self.first_step_seconds = self.first_step_seconds or self.seconds()
            self.write()
        if "valid" in record:
            step = record["step"]
            self.curve = [point for point in self.curve if point["step"] < step]  # resumed at a checkpoint
            self.curve.append({"step": step, "seconds": self.seconds(), "scores": record["valid"]})
            self.write()

    def finish(self) -> None:
        """Stop the clock once the result is known."""
        if self.wall_seconds is None:
            self.wall_seconds = self.seconds()
        self.write()

    def write(self) -> None:
        """Write the file."""
        values = {
            "processes": self.processes,
            "wall_seconds": 0.0 if self.first_step_seconds is None else self.seconds(),
            "first_step_seconds": self.first_step_seconds,
            "finished_seconds": self.wall_seconds,
            "step_times": self.step_times,
            "curve": self.curve,
        }
        write_json(self._file, values)
