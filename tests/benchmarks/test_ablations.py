"""benchmarks/ablations.py: its runs are configs, start from what was tuned, and end in the usual results."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tam.config import Config
from tam.tasks.taskset import TaskSet
from tam.training.loop import Trainer
from tam.training.saved import Saved

SMALL = {"rows": 16, "adapt_rates": (0.1,)}


@pytest.fixture(scope="module")
def ablations(load: Callable[[str], ModuleType]) -> ModuleType:
    """benchmarks/ablations.py"""
    return load("ablations")


def not_measured(_: Trainer) -> dict[int, float]:
    pytest.fail("it was measured")


@pytest.fixture
def tuning(ablations: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where choices are read from."""
    monkeypatch.setattr(ablations, "FOLDER", tmp_path)
    return tmp_path


def test_every_run_is_a_config(ablations: ModuleType) -> None:
    runs = ablations.all_runs()
    for name, run in runs.items():
        subject = ablations.Subject(
            method=run.method, benchmark=run.benchmark, shots=run.shots, device="cuda"
        )
        for candidate in ablations.GRID[run.method]:
            values = candidate | run.values
            config = subject.config(values, ablations.MODERATE, ablations.RUN_SHOTS)
            assert config.protocol.shots == ((1, 5, 10, 20) if run.shots is None else (run.shots,))
        method, what, benchmark, *_ = name.split("-")
        assert (method, benchmark) == (run.method, run.benchmark)
        assert run.preset == {"paper": "paper", "best": "best", "small": "quick"}.get(what)
    for ablation in ("adapter", "norm", "lstm"):
        assert {f"{method}-ablation-classification-{ablation}" for method in ("tam", "multitask")} <= set(
            runs
        )
    assert "matching-compositional-classification-k5" in runs
    assert "matching-compositional-transduction-k5" not in runs


def test_values_are_those_of_tuning(ablations: ModuleType, tuning: Path) -> None:
    def subject(method: str, shots: int | None = None) -> object:
        return ablations.Subject(method=method, benchmark="classification", shots=shots)

    assert ablations.tuned(subject("tam")) == {}
    for name, rate in (("tam-classification", 0.1), ("snail-classification-k5", 0.2)):
        (tuning / f"{name}.json").write_text(json.dumps({"chosen": {"values": {"rate": rate}}}))
    (tuning / "snail-classification-k10.json").write_text(json.dumps({"chosen": None}))
    assert ablations.tuned(subject("tam")) == {"rate": 0.1}
    assert [ablations.tuned(subject("snail", k)) for k in (5, 10, 20)] == [{"rate": 0.2}] * 3
    assert ablations.tuned(subject("multitask")) == {}


@pytest.mark.parametrize("benchmark_name", ["classification", "transduction", "pathfinding"])
def test_the_papers_settings_are_not_tuned(ablations: ModuleType, tuning: Path, benchmark_name: str) -> None:
    chosen = {"chosen": {"values": {"rate": 0.1, "inner_steps": 3}}}
    (tuning / f"tam-{benchmark_name}.json").write_text(json.dumps(chosen))
    run = ablations.all_runs()[f"tam-paper-{benchmark_name}"]
    config = ablations.config_of(run, "cuda", "best")
    protocol = ablations.MODERATE | {"shots": (1, 5, 10, 20)}
    given = {"device": "cuda", "precision": "bfloat16"}
    assert config == Config.from_preset("paper", "tam", benchmark_name, **protocol | given)
    tuned = ablations.all_runs()[f"tam-tuned-{benchmark_name}"]
    assert ablations.config_of(tuned, "cuda", "best").training.rate == 0.1


@pytest.mark.usefixtures("tuning")
def test_a_run_ends_in_a_result(ablations: ModuleType, tasks: TaskSet, tmp_path: Path) -> None:
    run = ablations.Run("tam", "classification", None, SMALL | {"conditioning": "norm"})
    config = ablations.config_of(run, "cpu", "smoke")
    result = ablations.make_run(config, tasks, 0.4, tmp_path, lambda _: {0: 24.9})
    assert result["config"]["training"]["steps"] == 16
    assert set(result["best_steps"]) == {"1", "5", "10", "20"}
    assert set(result["best_steps"].values()) <= {1, 2, 4, 8, 16}
    assert result["gpu_seconds"] == pytest.approx(0.4, abs=0.05)
    assert 0 < result["seconds"] < 20
    assert result["config"]["network"]["conditioning"] == "norm"
    assert [score["k"] for score in result["scores"]] == [1, 5, 10, 20]
    assert {score["tasks"] for score in result["scores"]} == {len(tasks.test)}
    assert result["code"]
    assert Saved.read(tmp_path, "cpu").model.spec.conditioning == "norm"


@pytest.mark.usefixtures("tuning")
def test_a_run_takes_the_weights_that_validated_best(
    ablations: ModuleType, tasks: TaskSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rate that grows ever worse: what came early is kept."""
    monkeypatch.setattr("tam.training.loop.rate_at", lambda step, **_: 0.01 if step < 2 else 0.5)
    config = ablations.config_of(ablations.Run("tam", "classification", None, SMALL), "cpu", "smoke")
    result = ablations.make_run(config, tasks, ablations.Plan(32), tmp_path, not_measured)
    assert result["config"]["training"]["steps"] == 32
    assert 2 in result["best_steps"].values()
    assert "gpu_seconds" not in result
