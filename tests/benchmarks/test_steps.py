"""benchmarks/steps.py: the times that budgets are counted by."""

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tam.tasks.taskset import TaskSet

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "steps.py"


@pytest.fixture(scope="module")
def steps(load: Callable[[str], ModuleType]) -> ModuleType:
    """benchmarks/steps.py"""
    return load("steps")


class Given:
    device, preset = "cpu", "smoke"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def small(steps: ModuleType, tasks: TaskSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tasks in the place of a benchmark's, and everything in this process."""

    def one_by_one(jobs: list[Any], set_up: Any, at_once: int) -> Generator[tuple[Any, Any]]:
        assert at_once == 12
        for job in jobs:
            with set_up(job) as measure:
                yield job, measure()

    monkeypatch.setattr(steps, "make", lambda _: tasks)
    monkeypatch.setattr(steps, "one_by_one", one_by_one)


@pytest.mark.usefixtures("small")
def test_steps_are_timed_and_added(
    steps: ModuleType, tasks: TaskSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, name = tmp_path / "steps.json", f"multitask-{tasks.kind}"
    key = json.loads(json.dumps(steps.step_key(*next(iter(steps.trained_as(name, Given()))))))
    other = {"of": {"method": "other"}, "ms": {"0": 1.0}}
    file.write_text(json.dumps({"steps": [other, {"of": key, "ms": {"0": -1.0}}]}))
    arguments = ["steps.py", name, "--device", "cpu", "--preset", "smoke", "--out", str(file)]
    monkeypatch.setattr(sys, "argv", arguments)
    steps.main()
    found = json.loads(file.read_text())["steps"]
    assert len(found) == 3  # two shapes of four candidates
    assert other in found
    assert all(row["ms"]["0"] > 0 for row in found)
    assert key in [row["of"] for row in found]


@pytest.mark.usefixtures("small")
def test_a_method_with_phases_has_a_time_for_each(steps: ModuleType, tasks: TaskSet) -> None:
    *_, mixed = steps.trained_as(f"tam-{tasks.kind}", Given())
    with steps.set_up(mixed) as measure:
        assert set(measure()) == {"0", "1"}


def test_names_that_are_not_there(steps: ModuleType) -> None:
    done = run("tam-classification", "tam-nothing")
    assert done.returncode == 2
    assert "--list" in done.stderr
    assert "tam-sweep-classification-T5" in run("--list").stdout.split()
    assert not list(steps.trained_as("nearest-classification", Given()))
