"""benchmarks/tune.py: as much of a GPU for every candidate, the best on validation tasks, test unseen."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tam.config import Config
from tam.tasks.taskset import TaskSet
from tam.training.loop import Trainer

SMALL: dict[str, Any] = {"adapt_rates": (0.1,), "rows": 16, "inner_steps": 1}


@pytest.fixture(scope="module")
def tune(load: Callable[[str], ModuleType]) -> ModuleType:
    """benchmarks/tune.py"""
    return load("tune")


@pytest.fixture
def subject(tune: ModuleType, tasks: TaskSet) -> Any:
    return tune.Subject(method="tam", benchmark=tasks.kind, preset="smoke")


def third(_: Trainer) -> dict[int, float]:
    """Times of steps of which three fit into a second."""
    return {0: 333.0, 1: 333.0}


def with_other_test_answers(tasks: TaskSet) -> TaskSet:
    test = tuple(replace(task, y=replace(task.y, ids=np.roll(task.y.ids, 1, axis=0))) for task in tasks.test)
    return replace(tasks, splits={**tasks.splits, "test": test})


def test_test_tasks_do_not_enter(
    tune: ModuleType, subject: Any, tasks: TaskSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = with_other_test_answers(tasks)
    assert others.fingerprint != tasks.fingerprint
    monkeypatch.setattr(TaskSet, "test", property(lambda _: pytest.fail("test tasks were looked at")))
    grid = (SMALL, SMALL | {"rate": 0.01})
    found = [tune.tune(subject, some, 2.0, third, tmp_path, grid=grid) for some in (tasks, others)]
    first, second = ([(row["scores"], row["score"]) for row in facts["candidates"]] for facts in found)
    assert first == second


def test_the_best_on_validation_tasks_is_chosen(
    tune: ModuleType, subject: Any, tasks: TaskSet, tmp_path: Path
) -> None:
    grid = (SMALL, SMALL | {"rate": 1e38}, SMALL | {"rate": 0.1})
    facts = tune.tune(subject, tasks, 3.0, third, tmp_path, grid)
    assert json.loads((tmp_path / f"tam-{subject.benchmark}.json").read_text())["chosen"]["values"]
    good, diverged, other = facts["candidates"]
    assert "DivergedError" in diverged["error"]
    better = max if tasks.kind == "classification" else min
    assert facts["chosen"]["score"] == better(good["score"], other["score"])
    assert {row["seconds_asked"] for row in facts["candidates"]} == {1.0}
    metric = "accuracy" if tasks.kind == "classification" else "perplexity"
    assert good["score"] == pytest.approx(np.mean([good["scores"][k][metric] for k in ("5", "20")]))
    assert (good["steps"], good["seconds"]) == (3, pytest.approx(0.999))
    assert facts["counted"] == tune.COUNTED


def test_the_best_validation_at_a_k_counts(
    tune: ModuleType, subject: Any, tasks: TaskSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, found = Trainer.validate, list[Any]()
    monkeypatch.setattr(Trainer, "validate", lambda self: found.append(real(self)) or found[-1])
    facts = tune.tune(subject, tasks, 6.0, third, tmp_path, grid=(SMALL | {"rate": 0.3},))
    (row,) = facts["candidates"]
    assert row["steps"] == 18
    assert len(found) == 5
    better = max if tasks.kind == "classification" else min
    metric = "accuracy" if tasks.kind == "classification" else "perplexity"
    for place, k in enumerate((5, 20)):
        values = [getattr(scores[place], metric) for scores in found]
        assert len(set(values)) > 1
        assert row["scores"][str(k)][metric] == better(values)
        steps = (1, 2, 4, 9, 18)
        assert row["best_steps"][str(k)] == steps[values.index(better(values))]


def test_the_best_of_equal_scores(tune: ModuleType) -> None:
    def row(accuracy: float, perplexity: float | None, score: float | None) -> dict[str, Any]:
        return {"score": score, "scores": {"5": {"accuracy": accuracy, "perplexity": perplexity}}}

    rows = [row(0.5, 3.0, 0.5), row(0.5, 2.0, 0.5), row(0.4, 1.0, 0.4), {"error": "DivergedError"}]
    assert tune.best(rows, "accuracy") is rows[1]
    rows = [row(0.5, None, None), row(0.5, 2.0, 2.0), row(0.4, 1.0, 1.0)]
    assert tune.best(rows, "perplexity") is rows[2]
    assert tune.best([{"error": "DivergedError"}], "accuracy") is None


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
        tune.tune(subject, tasks, 2.0, third, tmp_path, grid=(SMALL, SMALL | {"rate": 0.5}))
    written = json.loads((tmp_path / f"tam-{subject.benchmark}.json").read_text())
    assert len(written["grid"]) == 2
    assert len(written["candidates"]) == 1
    assert written["chosen"] == written["candidates"][0]


@pytest.mark.parametrize("benchmark_name", ["classification", "transduction", "pathfinding"])
def test_every_candidate_is_a_config(tune: ModuleType, benchmark_name: Any) -> None:
    for method, grid in tune.GRID.items():
        assert len(grid) == 4
        for k in (1, 5, 10, 20) if Config.of(method).settings.per_shots else (None,):
            subject = tune.Subject(method=method, benchmark=benchmark_name, shots=k, device="cuda")
            for values in grid:
                config = subject.config(values, tune.CHEAP, tune.SHOTS)
                assert k is None or config.training.rows > 4 * k


def test_what_is_not_trained_takes_no_time(tune: ModuleType, tasks: TaskSet, tmp_path: Path) -> None:
    subject = tune.Subject(method="nearest", benchmark=tasks.kind, preset="smoke")
    facts = tune.tune(subject, tasks, 1.0, lambda _: pytest.fail("it was measured"), tmp_path)
    assert {(row["steps"], row["seconds"]) for row in facts["candidates"]} == {(0, 0.0)}


def test_shots_are_for_methods_with_one_model_per_k(tune: ModuleType) -> None:
    assert tune.Subject(method="snail", benchmark="transduction").name == "snail-transduction-k5"
    with pytest.raises(tune.UserError, match="one model for all k"):
        tune.Subject(method="tam", benchmark="transduction", shots=5)
