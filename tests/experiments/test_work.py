"""One job: what its result says, and that it goes on after it was stopped."""

import json
import os
import signal
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tam.config.config import Config
from tam.errors import InterruptedRunError
from tam.experiments.budget import StepTimes
from tam.experiments.diary import Diary
from tam.experiments.job import Job
from tam.experiments.results import Folders, status
from tam.experiments.work import Order, work
from tam.tasks.benchmark import VERSION
from tests.experiments.small import small

pytestmark = pytest.mark.slow


def do(job: Job, folders: Folders) -> dict[str, Any]:
    work(Order(job, folders, 1, time.time()))
    return json.loads(folders.result_file(job).read_text())


def test_a_result_says_what_it_is(folders: Folders) -> None:
    job = small(seed=3, values={"rate": 0.002})
    found = do(job, folders)
    assert (found["name"], found["group"], found["preset"]) == ("small", "first", "smoke")
    assert found["config"]["seed"] == 3
    assert found["config"]["training"]["rate"] == 0.002
    assert found["benchmark_version"] == VERSION
    assert [score["k"] for score in found["scores"]] == [1, 5]
    assert [point["step"] for point in found["curve"]] == [2, 4]
    assert found["steps"] == 4
    assert set(found["curve"][0]["scores"]) == {"1", "5"}
    times = [found["first_step_seconds"], *(point["seconds"] for point in found["curve"])]
    assert 0 < times[0] <= times[1] <= times[2] <= found["wall_seconds"]
    assert (found["processes"], found["at_once"]) == (1, 1)
    assert found["budget_seconds"] is found["gpu_seconds"] is found["seconds_to_paper"] is None
    assert status(job, folders).done


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """What was timed: a step counts 50 ms, so that a plan does not depend on how busy the machine is."""
    seen: list[Config] = []

    def step_times(config: Config, *_: object) -> StepTimes:
        seen.append(config)
        return {0: 50.0}

    monkeypatch.setattr("tam.experiments.work.step_times", step_times)
    return seen


@pytest.mark.parametrize(
    ("seconds", "most", "validated"), [(0.4, 100, [3, 6, 8]), (60.0, 4, [2, 4])], ids=["budget", "preset"]
)
def test_a_budget_plans_the_steps_but_never_lengthens_a_run(
    folders: Folders, measured: list[Config], seconds: float, most: int, validated: list[int]
) -> None:
    job = small(seconds=seconds, values={"steps": most})
    found = do(job, folders)
    steps = validated[-1]
    assert found["budget_seconds"] == seconds
    assert found["gpu_seconds"] == steps * 50 / 1000
    assert found["config"]["training"]["steps"] == found["steps"] == steps
    assert [point["step"] for point in found["curve"]] == validated
    assert found["step_ms"] == 50
    assert status(job, folders).done
    assert measured == [job.config("cpu")]


def test_a_step_is_timed_once_for_all_seeds(folders: Folders, measured: list[Config]) -> None:
    for seed in (0, 1):
        assert do(small(str(seed), seconds=60.0, seed=seed), folders)["step_ms"] == 50
    assert len(measured) == 1
    do(small("longer", seconds=60.0, values={"inner_steps": 3}), folders)
    assert len(measured) == 2


@pytest.mark.parametrize("seconds", [None, 0.2])
def test_a_stopped_run_goes_on(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, measured: list[Config], seconds: float | None
) -> None:
    job, note = small(seconds=seconds), Diary.note

    def stop_at_step_three(self: Diary, record: Mapping[str, Any]) -> None:
        note(self, record)
        if record.get("step") == 3 and "loss" in record:
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(Diary, "note", stop_at_step_three)
        with pytest.raises(InterruptedRunError, match="stopped after step 3"):
            do(job, folders)
    assert status(job, folders) == (False, "interrupted")
    before = json.loads((folders.run_folder(job) / "experiment.json").read_text())
    found = do(job, folders)
    assert found["processes"] == 2
    assert found["first_step_seconds"] == before["first_step_seconds"]
    assert found["wall_seconds"] > before["wall_seconds"] > 0
    assert [point["step"] for point in found["curve"]] == sorted({point["step"] for point in found["curve"]})
    assert len(measured) == (seconds is not None)  # once, however often the run was stopped
    planned = found["config"]["training"]
    assert planned["steps"] == 4
    assert planned["validate_every"] == 2
    values = {name: planned[name] for name in ("steps", "validate_every")}
    straight = do(small(name="straight", values=values), folders)
    assert found["scores"] == straight["scores"]
    assert [point["scores"] for point in found["curve"]] == [point["scores"] for point in straight["curve"]]


def test_a_process_without_a_step_leaves_no_trace(folders: Folders) -> None:
    folders.runs.mkdir()
    file = folders.runs / "diary.json"
    diary = Diary(file, time.time() - 100)
    diary.step_times = {0: 1.0}
    diary.write()
    second = Diary(file, time.time())
    assert second.seconds() < 50
    assert second.step_times == {0: 1.0}
    assert second.processes == 0
