"""benchmarks/steps.py: the times that budgets are counted by."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "steps.py"


@pytest.fixture(scope="module")
def steps(load: Callable[[str], ModuleType]) -> ModuleType:
    """benchmarks/steps.py"""
    return load("steps")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=120
    )


def test_steps_are_timed_and_added(steps: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "steps.json"
    of = steps.trained_as("multitask-classification", _Given())
    key = json.loads(json.dumps(steps.step_key(*next(iter(of)))))
    other = {"of": {"method": "other"}, "ms": {"0": 1.0}}
    file.write_text(json.dumps({"steps": [other, {"of": key, "ms": {"0": -1.0}}]}))
    done = run("multitask-classification", "--device", "cpu", "--preset", "smoke", "--out", str(file))
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())["steps"]
    assert len(found) == 3  # two shapes of four candidates
    assert other in found
    assert all(row["ms"]["0"] > 0 for row in found)
    assert key in [row["of"] for row in found]


class _Given:
    device, preset = "cpu", "smoke"


def test_a_method_with_phases_has_a_time_for_each(steps: ModuleType) -> None:
    mixed = list(steps.trained_as("tam-classification", _Given()))[-1]
    with steps.set_up(mixed) as measure:
        assert set(measure()) == {"0", "1"}


def test_names_that_are_not_there(steps: ModuleType) -> None:
    done = run("tam-classification", "tam-nothing")
    assert done.returncode == 2
    assert "--list" in done.stderr
    assert "tam-sweep-classification-T5" in run("--list").stdout.split()
    assert not list(steps.trained_as("nearest-classification", _Given()))
