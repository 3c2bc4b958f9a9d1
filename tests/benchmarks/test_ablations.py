"""benchmarks/ablations.py: its runs are configs, start from what was tuned, and end in the usual results."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

from tam.presets import Preset
from tam.tasks.taskset import TaskSet

SMALL = {"rows": 16, "adapt_rates": (0.1,)}


@pytest.fixture(scope="module")
def ablations(load: Callable[[str], ModuleType]) -> ModuleType:
    """benchmarks/ablations.py"""
    return load("ablations")


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
        assert what not in get_args(Preset)  # those are in other tables
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


@pytest.mark.usefixtures("tuning")
def test_a_run_ends_in_a_result(ablations: ModuleType, tasks: TaskSet) -> None:
    run = ablations.Run("tam", "classification", None, SMALL | {"conditioning": "norm"})
    result = ablations.make_run(run, tasks, 0.4, "cpu", "smoke")
    assert result["config"]["training"]["steps"] > 6
    assert result["best_steps"] == dict.fromkeys(
        ["1", "5", "10", "20"], result["config"]["training"]["steps"]
    )
    assert 0.2 < result["seconds"] < 5
    assert result["config"]["network"]["conditioning"] == "norm"
    assert [score["k"] for score in result["scores"]] == [1, 5, 10, 20]
    assert {score["tasks"] for score in result["scores"]} == {len(tasks.test)}
    assert result["code"]
