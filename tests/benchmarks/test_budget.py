"""benchmarks/budget.py: the steps that fill some seconds of a GPU alone, on one cosine."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from tam.config import Config
from tam.methods import Losses, make_method
from tam.tasks.taskset import TaskSet
from tam.training.adam import rate_at
from tam.training.loop import Trainer


@pytest.fixture(scope="module")
def budget(load: Callable[[str], ModuleType]) -> ModuleType:
    """benchmarks/budget.py"""
    return load("budget")


@pytest.mark.parametrize("seconds", [0.001, 0.05, 0.5, 1.5, 3.0])
@pytest.mark.parametrize("second_phase", [1, 7, 30, 10**9])
def test_a_plan_fills_the_seconds(budget: ModuleType, seconds: float, second_phase: int) -> None:
    ms = {0: 10.0, 1: 70.0}
    config = Config.from_preset("smoke", "tam", support="mixed", small_after=second_phase)
    planned = budget.plan(make_method(config), ms, seconds)
    taken = [ms[int(step >= second_phase)] / 1000 for step in range(planned.steps + 1)]
    assert planned.seconds == pytest.approx(sum(taken[:-1]))
    assert budget.timed(make_method(config), ms, planned.steps).seconds == pytest.approx(planned.seconds)
    assert sum(taken) > seconds
    assert planned.steps == 1 or planned.seconds <= seconds


class Counted:
    """Looks like a trainer, and notes at which steps it was validated."""

    def __init__(self) -> None:
        self.config = Config.from_preset("paper")
        self.device = torch.device("cpu")
        self.state = SimpleNamespace(step=0, seconds=0.0)
        self.adam = SimpleNamespace(norm=torch.tensor(1.0))
        self.validated: list[int] = []
        self.rates: list[float] = []

    def step(self) -> Losses:
        steps = self.config.training.steps
        self.rates.append(rate_at(self.state.step, peak=1.0, warmup=5, steps=steps))
        self.state.step += 1
        return Losses(torch.tensor(1.0), torch.tensor(1.0), torch.tensor(1.0))

    def validate(self) -> list[int]:
        self.validated.append(self.state.step)
        return [self.state.step]


def test_training_takes_its_steps_on_one_cosine(budget: ModuleType) -> None:
    trainer = Counted()
    found = budget.train(trainer, 109)
    assert trainer.state.step == trainer.config.training.steps == 109
    assert trainer.validated == [7, 14, 27, 54]
    assert found == [[7], [14], [27], [54]]
    assert trainer.rates == [rate_at(step, peak=1.0, warmup=5, steps=109) for step in range(109)]


def test_a_method_with_phases_has_a_time_for_each(budget: ModuleType, tasks: TaskSet, tmp_path: Path) -> None:
    """And measuring them leaves the trainer as it was: it trains as one that was not measured."""
    config = Config.from_preset("smoke", "tam", tasks.kind, support="mixed", small_after=2, rows=16)
    measured, other = (Trainer(config, tasks, tmp_path) for _ in range(2))
    stopwatch = budget.Stopwatch()
    times = stopwatch(measured)
    assert set(times) == {0, 1}
    assert min(times.values()) > 0
    assert measured.state.step == 0
    for _ in range(4):
        assert measured.step().end == other.step().end


def test_what_takes_the_same_time_is_measured_once(
    budget: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[Config] = []
    monkeypatch.setattr(budget, "step_times", lambda trainer: measured.append(trainer.config) or {0: 1.0})
    stopwatch = budget.Stopwatch()

    def of(**values: Any) -> dict[int, float]:
        return stopwatch(SimpleNamespace(config=Config.from_preset("smoke", "tam", **values)))

    assert of(rate=0.1) == of(rate=0.2, inner_rate=0.3) == {0: 1.0}
    assert len(measured) == 1
    of(rows=7)
    of(inner_steps=7)
    assert len(measured) == 3
