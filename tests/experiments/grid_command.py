"""Small experiments as a command: `python -m tests.experiments.grid_command first`."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tam.experiments.command import main
from tam.experiments.results import Places
from tests.experiments.small import grids, small

JOBS = [small("one"), small("two", seed=1)]
LONG = small("long", group="long", values={"steps": 100, "validate_every": 50, "checkpoint_every": 5})

ROOT = Path(__file__).resolve().parents[2]


def where(places: Places) -> list[str]:
    """The options for these places."""
    return ["--device", "cpu", "--results", str(places.results), "--runs", str(places.runs)]


def start_command(places: Places, *words: str, path: str = "") -> "subprocess.Popen[str]":
    """Start the command; `path` goes before all others where Python looks for packages."""
    paths = [path, str(ROOT / "src"), str(ROOT)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.experiments.grid_command", *words, *where(places)],
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
