"""benchmarks/alone.py: jobs are set up side by side, and measure one by one when all are ready."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPT = """
import os, sys, time
from contextlib import contextmanager

sys.path.insert(0, sys.argv[1])
from alone import FailedError, one_by_one

@contextmanager
def set_up(job):
    started = time.monotonic()
    time.sleep(0.1 * job)
    if job == 9:
        raise ValueError("no such job")
    if job == 8:
        os._exit(137)
    ready = time.monotonic()

    def measure():
        began = time.monotonic()
        time.sleep(0.05)
        return started, ready, began, time.monotonic()

    yield measure

if __name__ == "__main__":
    try:
        for job, found in one_by_one([int(job) for job in sys.argv[2:]], set_up):
            print(job, *found)
    except FailedError as error:
        print(error)
"""


def run(tmp_path: Path, *jobs: int) -> list[str]:
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), str(FOLDER), *map(str, jobs)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def test_all_are_ready_before_one_measures_alone(tmp_path: Path) -> None:
    jobs = (1, 5, 2, 3)
    times = {int(job): tuple(map(float, found)) for job, *found in map(str.split, run(tmp_path, *jobs))}
    assert set(times) == set(jobs)
    ready = max(times[job][1] for job in jobs)
    turns = sorted(times[job][2:] for job in jobs)
    assert turns[0][0] >= ready
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(turns))
    assert max(times[job][0] for job in jobs) < ready  # side by side


def test_an_error_ends_it_and_says_which(tmp_path: Path) -> None:
    assert run(tmp_path, 1, 9, 2) == ["9: ValueError: no such job"]
    assert run(tmp_path, 1, 8, 2) == ["8: its process ended with the code 137"]
