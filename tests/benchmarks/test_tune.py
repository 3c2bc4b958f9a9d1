"""benchmarks/tune.py: as much time for every candidate, the best on validation tasks, test tasks unseen."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tam.config import Config
from tam.methods import Losses
from tam.tasks.taskset import TaskSet

SMALL: dict[str, Any] = {"adapt_rates": (0.1,), "rows": 16, "inner_steps": 1}


@pytest.fixture(scope="module")
def tune(load: Callable[[str], ModuleType]) -> ModuleType:
    """benchmarks/tune.py"""
    return load("tune")


@pytest.fixture
def subject(tune: ModuleType, tasks: TaskSet) -> Any:
    return tune.Subject(method="tam", benchmark=tasks.kind, preset="smoke")


@pytest.fixture
def few_steps(tune: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every training is of as many steps, however fast they are."""

    def train(trainer: Any, seconds: float) -> Any:
        for _ in range(3):
            tune.take_steps(trainer, 1)
        return tune.Trained(3, 1.0, seconds, 0.0)

    monkeypatch.setattr(tune, "train", train)


def with_other_test_answers(tasks: TaskSet) -> TaskSet:
    test = tuple(replace(task, y=replace(task.y, ids=np.roll(task.y.ids, 1, axis=0))) for task in tasks.test)
    return replace(tasks, splits={**tasks.splits, "test": test})


@pytest.mark.usefixtures("few_steps")
def test_test_tasks_do_not_enter(
    tune: ModuleType, subject: Any, tasks: TaskSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = with_other_test_answers(tasks)
    assert others.fingerprint != tasks.fingerprint
    monkeypatch.setattr(TaskSet, "test", property(lambda _: pytest.fail("test tasks were looked at")))
    grid = (SMALL, SMALL | {"rate": 0.01})
    found = [tune.tune(subject, some, 1.0, tmp_path, grid=grid) for some in (tasks, others)]
    first, second = ([(row["scores"], row["score"]) for row in facts["candidates"]] for facts in found)
    assert first == second


@pytest.mark.usefixtures("few_steps")
def test_the_best_on_validation_tasks_is_chosen(
    tune: ModuleType, subject: Any, tasks: TaskSet, tmp_path: Path
) -> None:
    grid = (SMALL, SMALL | {"rate": 1e38}, SMALL | {"rate": 0.1})
    facts = tune.tune(subject, tasks, 3.0, tmp_path, tmp_path / "runs", grid)
    assert json.loads((tmp_path / f"tam-{subject.benchmark}.json").read_text())["chosen"]["values"]
    good, diverged, other = facts["candidates"]
    assert "DivergedError" in diverged["error"]
    better = max if tasks.kind == "classification" else min
    assert facts["chosen"]["score"] == better(good["score"], other["score"])
    assert {row["seconds_asked"] for row in facts["candidates"]} == {1.0}
    metric = "accuracy" if tasks.kind == "classification" else "perplexity"
    assert good["score"] == pytest.approx(np.mean([good["scores"][k][metric] for k in ("5", "20")]))
    result = json.loads((tmp_path / "runs" / f"tam-tuned-{subject.benchmark}-0.json").read_text())
    assert result["config"]["training"]["rate"] == facts["chosen"]["values"].get("rate", 1e-3)
    assert result["config"]["training"]["steps"] == 3
    assert [score["tasks"] for score in result["scores"]] == [len(tasks.test)] * 4


def test_the_best_of_equal_scores(tune: ModuleType) -> None:
    def row(accuracy: float, perplexity: float | None, score: float | None) -> dict[str, Any]:
        return {"score": score, "scores": {"5": {"accuracy": accuracy, "perplexity": perplexity}}}

    rows = [row(0.5, 3.0, 0.5), row(0.5, 2.0, 0.5), row(0.4, 1.0, 0.4), {"error": "DivergedError"}]
    assert tune.best(rows, "accuracy") is rows[1]
    rows = [row(0.5, None, None), row(0.5, 2.0, 2.0), row(0.4, 1.0, 1.0)]
    assert tune.best(rows, "perplexity") is rows[2]
    assert tune.best([{"error": "DivergedError"}], "accuracy") is None


@pytest.mark.usefixtures("few_steps")
def test_what_is_finished_is_written(
    tune: ModuleType, subject: Any, tasks: TaskSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tune.candidate

    def killed(config: Config, *more: Any) -> dict[str, Any]:
        if config.training.rate == 0.5:
            raise KeyboardInterrupt
        return real(config, *more)

    monkeypatch.setattr(tune, "candidate", killed)
    with pytest.raises(KeyboardInterrupt):
        tune.tune(subject, tasks, 1.0, tmp_path, grid=(SMALL, SMALL | {"rate": 0.5}))
    written = json.loads((tmp_path / f"tam-{subject.benchmark}.json").read_text())
    assert len(written["grid"]) == 2
    assert len(written["candidates"]) == 1
    assert written["chosen"] == written["candidates"][0]


class Stopwatch:
    """A trainer whose steps take a known time: those of phase 1 longer, the first of a phase much longer."""

    def __init__(self, second_phase: int = 10**9) -> None:
        self.now = 0.0
        self.config = Config.from_preset("paper")
        self.state = SimpleNamespace(step=0)
        self.adam = SimpleNamespace(norm=torch.tensor(1.0))
        self.method = SimpleNamespace(phase=lambda step: int(step >= second_phase))
        self.calls = [0, 0]

    def step(self) -> Losses:
        phase = self.method.phase(self.state.step)
        self.now += 5.0 if self.calls[phase] < 4 else (0.01, 0.02)[phase]
        self.calls[phase] += 1
        self.state.step += 1
        return Losses(torch.tensor(1.0), torch.tensor(1.0), torch.tensor(1.0))


@pytest.mark.parametrize(("second_phase", "steps", "ms"), [(10**9, 1006, 10), (106, 106 + 6 + 450, 20)])
def test_training_takes_the_seconds_that_are_asked_for(
    tune: ModuleType, monkeypatch: pytest.MonkeyPatch, second_phase: int, steps: int, ms: float
) -> None:
    trainer = Stopwatch(second_phase)
    monkeypatch.setattr(tune, "time", SimpleNamespace(monotonic=lambda: trainer.now))
    trained = tune.train(trainer, 10.0)
    assert trained.seconds == pytest.approx(10.0, abs=0.05)
    assert trained.ms == pytest.approx(ms)
    assert trained.steps == steps == trainer.config.training.steps
    assert trained.seconds + trained.setup_seconds == pytest.approx(trainer.now)


def test_a_machine_that_slows_down_is_noticed(tune: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Stopwatch()
    clock = SimpleNamespace(monotonic=lambda: trainer.now * (1 + trainer.now / 40))
    monkeypatch.setattr(tune, "time", clock)
    assert tune.train(trainer, 10.0).seconds == pytest.approx(10.0, abs=0.05)


def test_slow_steps_are_measured_on_few(tune: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Stopwatch()
    monkeypatch.setattr(tune, "time", SimpleNamespace(monotonic=lambda: trainer.now))
    assert tune.train(trainer, 0.1).seconds == pytest.approx(0.1)


@pytest.mark.parametrize("benchmark_name", ["classification", "transduction", "pathfinding"])
def test_every_candidate_is_a_config(tune: ModuleType, benchmark_name: Any) -> None:
    for method, grid in tune.GRID.items():
        assert len(grid) == 4
        for k in (1, 5, 10, 20) if Config.of(method).settings.per_shots else (None,):
            subject = tune.Subject(method=method, benchmark=benchmark_name, shots=k, device="cuda")
            for values in grid:
                config = subject.config(values, tune.CHEAP, tune.SHOTS)
                assert k is None or config.training.rows > 4 * k


def test_shots_are_for_methods_with_one_model_per_k(tune: ModuleType) -> None:
    assert tune.Subject(method="snail", benchmark="transduction").name == "snail-transduction-k5"
    with pytest.raises(tune.UserError, match="one model for all k"):
        tune.Subject(method="tam", benchmark="transduction", shots=5)
