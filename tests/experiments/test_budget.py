"""Budgets: the steps that fit into some GPU-seconds."""

from pathlib import Path

import pytest

from tam.config.config import Config
from tam.experiments import budget
from tam.experiments.budget import gpu_seconds, step_times, steps_within
from tam.methods import make_method
from tam.tasks.benchmark import BenchmarkOptions, make
from tests.experiments.small import TASKS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seconds", [0.001, 0.05, 0.5, 1.5, 3.0])
@pytest.mark.parametrize("second_phase", [1, 7, 30, 10**9])
def test_a_plan_fills_the_seconds(seconds: float, second_phase: int) -> None:
    times = {0: 10.0, 1: 70.0}
    config = Config.from_preset("smoke", "tam", support="mixed", small_after=second_phase)
    steps = steps_within(make_method(config), times, seconds)
    taken = [times[int(step >= second_phase)] / 1000 for step in range(steps + 1)]
    used = gpu_seconds(config, times, steps)
    assert used == pytest.approx(sum(taken[:-1]))
    assert used + taken[-1] > seconds
    assert steps == 1 or used <= seconds


def test_a_method_with_phases_has_a_time_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tam.experiments.sharing.sharing_folder", lambda: tmp_path)
    for name in ("WARMUP_STEPS", "REPEATS"):
        monkeypatch.setattr(budget, name, 1)
    config = Config.from_preset("smoke", "tam", "transduction", support="mixed", small_after=2, rows=16)
    times = step_times(config, make(BenchmarkOptions(**TASKS)))
    assert set(times) == {0, 1}
    assert min(times.values()) > 0
