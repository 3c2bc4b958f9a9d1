"""Jobs that take seconds; as a command: `python -m tests.experiments.small first`."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tam.experiments.command import main
from tam.experiments.job import Job
from tam.experiments.jobs import Experiment
from tam.experiments.results import Folders

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "results" / "runs"
TASKS: dict[str, Any] = {"name": "transduction", "train": 4, "valid": 2, "test": 2, "examples": 40}


def small(name: str = "small", group: str = "first", **fields: Any) -> Job:
    """A job with the preset smoke."""
    return Job(**{"name": name, "group": group, "tasks": TASKS, "preset": "smoke"} | fields)


JOBS = [small("one"), small("two", seed=1)]
LONG = small("long", group="long", values={"steps": 100, "validate_every": 50, "checkpoint_every": 5})


def reproduce(folders: Folders, jobs: Sequence[Job], *words: str) -> None:
    """`tam reproduce` of all experiments that these jobs belong to."""
    main([*dict.fromkeys(job.group for job in jobs), *where(folders), *words], grids(jobs))


def grids(jobs: Sequence[Job]) -> dict[str, Experiment]:
    """Experiments of these jobs, by their groups."""
    groups = dict.fromkeys(job.group for job in jobs)
    return {
        group: Experiment("", lambda own=group: (job for job in jobs if job.group == own)) for group in groups
    }


def where(folders: Folders) -> list[str]:
    """The options for these folders."""
    return ["--device", folders.device, "--results", str(folders.results), "--runs", str(folders.runs)]


def start_command(folders: Folders, *words: str, path: str = "") -> "subprocess.Popen[str]":
    """Start the command; `path` goes before all others where Python looks for packages."""
    paths = [path, str(ROOT / "src"), str(ROOT)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.experiments.small", *words, *where(folders)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": ":".join(filter(None, paths)), "RAY_TMPDIR": "/tmp"},  # short names
    )


def wait_for(file: Path) -> None:
    """Wait until a command has made a file."""
    end = time.monotonic() + 100
    while not file.exists():
        assert time.monotonic() < end
        time.sleep(0.005)


if __name__ == "__main__":
    main(sys.argv[1:], grids([*JOBS, LONG]))
