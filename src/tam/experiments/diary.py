"""What a run has done by the clock, over all its processes: its validations, and when they came."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tam.io import read_json
from tam.training.checkpoint import write_json


class Diary:
    """The clock and the validations of a run, kept in a file beside its checkpoint.

    A process that ends before its first outer step leaves no trace.
    """

    def __init__(self, file: Path, started: float) -> None:
        known = read_json(file) if file.exists() else {}
        self._file, self._started = file, started
        self._before: float = known.get("wall_seconds", 0.0)
        self._new = True
        self.processes: int = known.get("processes", 0)
        self.first_step_seconds: float | None = known.get("first_step_seconds")
        self.step_times: dict[int, float] | None = None
        if known.get("step_times"):
            self.step_times = {int(phase): ms for phase, ms in known["step_times"].items()}
        self.curve: list[dict[str, Any]] = known.get("curve", [])
        self.wall_seconds: float | None = known.get("finished_seconds")

    def seconds(self) -> float:
        """Seconds since the process started, and those of the processes before it."""
        return round(self._before + time.time() - self._started, 2)

    def note(self, record: Mapping[str, Any]) -> None:
        """Take note of a record of the training."""
        if "step" not in record:
            return
        if self._new:
            self._new = False
            self.processes += 1
            self.first_step_seconds = self.first_step_seconds or self.seconds()
            self.write()
        if "valid" in record:
            step = record["step"]
            self.curve = [point for point in self.curve if point["step"] < step]  # later ones were lost
            self.curve.append({"step": step, "seconds": self.seconds(), "scores": record["valid"]})
            self.write()

    def finish(self) -> None:
        """The result is there; what comes after it does not count."""
        if self.wall_seconds is None:
            self.wall_seconds = self.seconds()
        self.write()

    def write(self) -> None:
        """Write the file."""
        taken = self.first_step_seconds is not None
        values = {
            "processes": self.processes,
            "wall_seconds": self.seconds() if taken else 0.0,
            "first_step_seconds": self.first_step_seconds,
            "finished_seconds": self.wall_seconds,
            "step_times": self.step_times,
            "curve": self.curve,
        }
        write_json(self._file, values)
