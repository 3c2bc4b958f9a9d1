"""benchmarks/budget.py: the steps that fill some seconds of a GPU alone, on one cosine."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from tam.config import Config
from tam.methods import Losses
from tam.training.adam import rate_at


@pytest.fixture(scope="module")
def budget(load: Callable[[str], ModuleType]) -> ModuleType:
    """benchmarks/budget.py"""
    return load("budget")


@pytest.mark.parametrize("seconds", [0.001, 0.05, 0.5, 1.5, 3.0])
@pytest.mark.parametrize("second_phase", [1, 7, 30, 10**9])
def test_a_plan_fills_the_seconds(budget: ModuleType, seconds: float, second_phase: int) -> None:
    ms = {0: 10.0, 1: 70.0}
    config = Config.from_preset("smoke", "tam", support="mixed", small_after=second_phase)
    planned = budget.plan(config, lambda _: ms, seconds)
    taken = [ms[int(step >= second_phase)] / 1000 for step in range(planned.steps + 1)]
    assert planned.seconds == pytest.approx(sum(taken[:-1]))
    assert sum(taken) > seconds
    assert planned.steps == 1 or planned.seconds <= seconds


def test_what_is_not_trained_takes_no_step(budget: ModuleType) -> None:
    assert budget.plan(Config.from_preset("smoke", "nearest"), lambda _: {}, 1.0) == (0, 0.0)


class Counted:
    """Looks like a trainer, and notes at which steps it was validated."""

    def __init__(self) -> None:
        self.config = Config.from_preset("paper")
        self.state = SimpleNamespace(step=0, seconds=0.0)
        self.adam = SimpleNamespace(norm=torch.tensor(1.0))
        self.validated: list[int] = []
        self.rates: list[float] = []

    def step(self) -> Losses:
        steps = self.config.training.steps
        self.rates.append(rate_at(self.state.step, peak=1.0, warmup=5, steps=steps))
        self.state.step += 1
        return Losses(torch.tensor(1.0), torch.tensor(1.0), torch.tensor(1.0))

    def validate(self) -> None:
        self.validated.append(self.state.step)


def test_training_takes_its_steps_on_one_cosine(budget: ModuleType) -> None:
    trainer = Counted()
    budget.train(trainer, 109, (1 / 16, 1 / 4, 1 / 2))
    assert trainer.state.step == trainer.config.training.steps == 109
    assert trainer.validated == [7, 27, 54]
    assert trainer.rates == [rate_at(step, peak=1.0, warmup=5, steps=109) for step in range(109)]


def test_times_are_those_that_were_measured_on_such_a_device(budget: ModuleType, tmp_path: Path) -> None:
    def config(**values: Any) -> Config:
        return Config.from_preset("smoke", "tam", "classification", support="mixed", **values)

    file = tmp_path / "steps.json"
    key = budget.step_key(config(rate=0.5, inner_rate=0.1), "classification", False)
    row = {"of": key, "ms": {"0": 2.0, "1": 3.0}}
    file.write_text(json.dumps({"device": budget.device_name("cpu"), "steps": [row]}))
    times = budget.measured_times(file, "classification", False)
    assert times(config(small_after=7)) == {0: 2.0, 1: 3.0}
    others = (times, config(rows=17)), (budget.measured_times(file, "classification", True), config())
    for other, asked in others:
        with pytest.raises(budget.UserError, match=r"no time of this step .*steps\.py"):
            other(asked)
    file.write_text(json.dumps({"device": "another", "steps": [row]}))
    with pytest.raises(budget.UserError, match="no time of this step"):
        times(config())
