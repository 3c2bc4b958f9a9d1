"""benchmarks/tune.py: as much of a GPU for every candidate, the best on validation tasks, test unseen."""

import json
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
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
from tam.training.adam import rate_at

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
        return tune.Trained(3, 1.0, seconds, 0.0, 7.0)

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
    assert (good["seconds"], good["wall_seconds"]) == (1.0, 7.0)
    assert (result["gpu_seconds"], result["seconds"]) == (1.0, 7.0)
    assert facts["counted"] == tune.COUNTED
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
    """A trainer whose steps take a known time, and longer beside others; the first of a phase much longer.

    A step of phase 0 takes 10 ms, one of phase 1 as long as `second_ms`. It is a turnstile too: it knows
    when it is alone.
    """

    def __init__(self, second_phase: int = 10**9, second_ms: float = 20.0, crowd: float = 3.0) -> None:
        self.now = 0.0
        self.config = Config.from_preset("paper")
        self.state = SimpleNamespace(step=0)
        self.adam = SimpleNamespace(norm=torch.tensor(1.0))
        self.method = SimpleNamespace(phase=lambda step: int(step >= second_phase))
        self.ms, self.crowd = (10.0, second_ms), crowd
        self.place = "outside"
        self.visits: list[tuple[str, int, float]] = []
        self.calls = [0, 0]
        self.rates: list[float] = []

    def step(self) -> Losses:
        phase = self.method.phase(self.state.step)
        crowd = 1.0 if self.place == "alone" else self.crowd
        self.now += 5.0 if self.calls[phase] < 4 else crowd * self.ms[phase] / 1000
        self.calls[phase] += 1
        training = self.config.training
        assert self.state.step < training.steps
        self.rates.append(rate_at(self.state.step, peak=1.0, warmup=50, steps=training.steps))
        self.state.step += 1
        return Losses(torch.tensor(1.0), torch.tensor(1.0), torch.tensor(1.0))

    @contextmanager
    def _visit(self, place: str) -> Generator[None]:
        first, began = self.state.step, self.now
        self.place = place
        yield
        self.place = "outside"
        self.visits.append((place, self.state.step - first, self.now - began))

    def shared(self) -> AbstractContextManager[None]:
        return self._visit("shared")

    def alone(self) -> AbstractContextManager[None]:
        return self._visit("alone")

    def of(self, place: str) -> list[tuple[int, float]]:
        return [(steps, seconds) for where, steps, seconds in self.visits if where == place]


Timed = Callable[..., tuple[Stopwatch, Any]]


@pytest.fixture
def timed(tune: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Timed:
    """Trains a stopwatch for some seconds."""

    def train(seconds: float, *which: Any) -> tuple[Stopwatch, Any]:
        trainer = Stopwatch(*which)
        monkeypatch.setattr(tune, "time", SimpleNamespace(monotonic=lambda: trainer.now))
        monkeypatch.setattr(tune, "TURN", trainer)
        return trainer, tune.train(trainer, seconds)

    return train


@pytest.mark.parametrize("crowd", [1.0, 7.0])
@pytest.mark.parametrize(("second_phase", "steps", "ms"), [(10**9, 1000, 10), (106, 106 + 447, 20)])
def test_training_takes_the_seconds_of_a_gpu_alone(
    timed: Timed, second_phase: int, steps: int, ms: float, crowd: float
) -> None:
    trainer, trained = timed(10.0, second_phase, 20.0, crowd)
    assert trained.seconds == pytest.approx(10.0)
    assert trained.ms == pytest.approx(ms)
    assert trained.steps == steps == trainer.config.training.steps
    assert trained.wall_seconds == pytest.approx(trainer.now)
    assert trained.setup_seconds >= 20.0 * (1 + (second_phase < steps))


def test_measurements_are_short_and_let_others_measure(timed: Timed) -> None:
    trainer, _ = timed(10.0, 106, 20.0)
    assert trainer.of("alone") == [(24, pytest.approx(0.24)), (12, pytest.approx(0.24))]
    shares = [seconds for _, seconds in trainer.of("shared")]
    assert max(shares) < 0.3
    assert sum(seconds > 0.15 for seconds in shares) > 0.8 * len(shares)
    inside = sum(steps for _, steps, _ in trainer.visits)
    assert inside == trainer.state.step - 12  # the set-up of two phases is outside


def test_few_slow_steps_are_measured(timed: Timed) -> None:
    trainer, trained = timed(20.0, 0, 1000.0)
    assert [steps for steps, _ in trainer.of("alone")] == [2]
    assert (trained.steps, trained.seconds) == (20, pytest.approx(20.0))


def test_a_short_budget_is_not_spent_on_measuring(timed: Timed) -> None:
    _, trained = timed(0.1)
    assert (trained.steps, trained.seconds) == (10, pytest.approx(0.1))


@pytest.mark.parametrize("second_phase", [970, 990, 992, 995, 999])
@pytest.mark.parametrize("second_ms", [1.0, 10.0, 30.0])
def test_a_phase_that_begins_near_the_end_stays_on_the_cosine(
    timed: Timed, second_phase: int, second_ms: float
) -> None:
    trainer, trained = timed(10.0, second_phase, second_ms)
    if second_ms >= 10.0:  # else more steps fit, and it is a longer cosine
        assert trained.steps <= 1000
        assert max(trainer.rates[second_phase:]) < 0.02
    measured = second_phase + 8 <= 1000
    assert trained.ms == (pytest.approx(second_ms) if measured else pytest.approx(10.0))
    later = trained.ms * (trained.steps - second_phase)
    assert trained.seconds == pytest.approx((10.0 * second_phase + later) / 1000)


def test_a_first_phase_too_short_to_measure_counts_as_the_next(timed: Timed) -> None:
    trainer, trained = timed(10.0, 5, 20.0)
    assert len(trainer.of("alone")) == 1
    assert (trained.steps, trained.ms, trained.seconds) == (500, pytest.approx(20.0), pytest.approx(10.0))


@pytest.mark.parametrize("second_phase", [8, 20, 30])
@pytest.mark.parametrize("second_ms", [1.0, 20.0])
def test_a_first_phase_that_measuring_uses_up_is_not_the_time_of_the_next(
    timed: Timed, second_phase: int, second_ms: float
) -> None:
    trainer, trained = timed(10.0, second_phase, second_ms)
    assert len(trainer.of("alone")) == 2
    assert trained.ms == pytest.approx(second_ms)
    assert trained.seconds == pytest.approx(10.0, abs=second_ms / 1000)
    assert trained.steps - second_phase == pytest.approx((10_000 - 10 * second_phase) / second_ms, abs=1)


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
