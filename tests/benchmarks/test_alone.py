"""benchmarks/alone.py: jobs are set up side by side, and measure one by one when all are ready."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

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
    at_once = int(sys.argv[2]) or None
    try:
        for job, found in one_by_one([int(job) for job in sys.argv[3:]], set_up, at_once):
            print(job, *found)
    except FailedError as error:
        print(error)
"""


def run(tmp_path: Path, at_once: int, *jobs: int) -> list[str]:
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), str(FOLDER), str(at_once), *map(str, jobs)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


@pytest.mark.parametrize("at_once", [0, 2])
def test_all_are_ready_before_one_measures_alone(tmp_path: Path, at_once: int) -> None:
    jobs = (1, 5, 2, 3)
    times = {
        int(job): tuple(map(float, found)) for job, *found in map(str.split, run(tmp_path, at_once, *jobs))
    }
    assert set(times) == set(jobs)
    groups = [jobs] if at_once == 0 else [jobs[:2], jobs[2:]]
    for group in groups:
        ready = max(times[job][1] for job in group)
        turns = sorted(times[job][2:] for job in group)
        assert turns[0][0] >= ready
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(turns))
        assert max(times[job][0] for job in group) < ready  # side by side
    if at_once:
        assert min(times[job][0] for job in groups[1]) > max(times[job][3] for job in groups[0])


def test_an_error_ends_it_and_says_which(tmp_path: Path) -> None:
    assert run(tmp_path, 0, 1, 9, 2) == ["9: ValueError: no such job"]


def test_a_process_that_dies_ends_it_too(tmp_path: Path) -> None:
    assert run(tmp_path, 0, 1, 8, 2) == ["8: its process ended with the code 137"]


def test_nothing_to_do(tmp_path: Path) -> None:
    assert run(tmp_path, 0) == []
