"""Which results count, and when a run was as good as the paper."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tam.errors import UserError
from tam.experiments.jobs import all_jobs
from tam.experiments.reference import paper_goal, seconds_to_paper
from tam.experiments.results import (
    Folders,
    mismatch,
    result_of,
    status,
    versions,
    with_budget,
    write_result,
)
from tests.experiments.small import PUBLISHED, TASKS, small


def result(**changes: Any) -> dict[str, Any]:
    job = small()
    return {
        **versions(job),
        "tasks": job.options,
        "budget_seconds": None,
        "config": json.loads(json.dumps(job.config("cpu").to_json())),
    } | changes


def test_a_result_counts_for_its_job() -> None:
    assert mismatch(small(), result(), "cpu") is None
    older = result()
    del older["config"]["training"]["clip"]  # a setting that came later, at its default
    assert mismatch(small(), older, "cpu") is None


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (result(version=0), "version was 0"),
        (result(benchmark_version=0), "benchmark_version was 0"),
        (result(tasks=small().options | {"seed": 1}), "tasks"),
        (result(budget_seconds=3.0), "budget_seconds was 3.0 and is None"),
        (result(config=small(seed=1).config("cpu").to_json()), "seed was 1 and is 0"),
        (result(config=small().config("cuda").to_json()), "device was 'cuda' and is 'cpu'"),
        (result(config={"network": {"gone": 1}}), "cannot be read"),
        ({}, "was None"),
    ],
)
def test_a_changed_result_does_not_count(folders: Folders, changed: dict[str, Any], words: str) -> None:
    assert re.search(words, str(mismatch(small(), changed, "cpu")))
    folders.results.mkdir()
    (folders.results / "small-01234567.json").write_text(json.dumps(changed))
    found = status(small(), folders)
    assert not found.done
    assert found.note.startswith("changed: ")
    assert result_of(small(), folders) is None


def test_settings_tasks_and_budget_have_their_own_file_and_folder(folders: Folders) -> None:
    other = small(values={"rate": 0.5})
    for job, changes in ((other, {"config": other.config("cpu").to_json()}), (small(), {})):
        write_result(job, folders, result(name=job.name, **changes))
    for job in (small(), other):
        assert result_of(job, folders) == json.loads(folders.result_file(job).read_text())
        assert status(job, folders).done
    jobs = (small(), other, small(seed=1), small(seconds=1.0), small(tasks=TASKS | {"seed": 1}))
    for of in (folders.result_file, folders.run_folder):
        assert len({of(job) for job in jobs}) == len(jobs)
        assert of(replace(small(), alone=True)) == of(small())


def test_a_result_is_never_overwritten(folders: Folders) -> None:
    write_result(small(), folders, result(finished="first"))
    write_result(small(), folders, result(finished="second"))
    assert (result_of(small(), folders) or {})["finished"] == "first"
    folders.result_file(small()).write_text(json.dumps(result(version=0)))
    with pytest.raises(UserError, match="never overwritten"):
        write_result(small(), folders, result())


def test_a_result_that_is_not_timed_is_completed(folders: Folders) -> None:
    on_gpu = folders._replace(device="cuda")
    untimed = result(config=small().config("cuda").to_json(), steps=4, gpu_seconds=None)
    write_result(small(), on_gpu, untimed)
    assert status(small(), on_gpu) == (False, "not timed")
    write_result(small(), on_gpu, untimed | {"gpu_seconds": 1.5})
    assert status(small(), on_gpu).done
    assert (result_of(small(), on_gpu) or {})["gpu_seconds"] == 1.5


def test_with_a_budget_the_steps_follow_from_the_time() -> None:
    planned = small().config("cpu").override(steps=3, validate_every=1).to_json()
    assert mismatch(small(), result(config=planned), "cpu") is not None
    job = small(seconds=2.0)
    assert mismatch(job, result(config=planned, budget_seconds=2.0), "cpu") is None
    assert mismatch(job, result(config=planned, budget_seconds=1.97), "cpu") is None  # measured again
    assert mismatch(job, result(config=planned, budget_seconds=1.9), "cpu") is not None
    longer = small().config("cpu").override(steps=77).to_json()  # the preset's number of steps is a limit
    assert mismatch(job, result(config=longer, budget_seconds=2.0), "cpu") is not None


def point(seconds: float, **scores: float | None) -> dict[str, Any]:
    both = {k.strip("k"): {"accuracy": value, "perplexity": value} for k, value in scores.items()}
    return {"step": 1, "seconds": seconds, "scores": both}


def test_seconds_to_the_quality_of_the_paper() -> None:
    goal = {"1": 0.9, "5": 0.5, "10": 0.6, "20": 0.7}
    curve = [
        point(1.0, k1=0.1, k5=0.5, k10=0.6, k20=0.69),
        point(2.0, k1=0.1, k5=0.5, k10=0.6, k20=0.7),
        point(3.0, k1=0.1, k5=0.4, k10=0.5, k20=0.6),
    ]
    assert seconds_to_paper(curve, "accuracy", goal) == 2.0
    assert seconds_to_paper(curve[:1], "accuracy", goal) is None
    assert seconds_to_paper(curve, "perplexity", goal) == 1.0
    assert seconds_to_paper([point(1.0, k5=0.1, k10=0.1, k20=None)], "perplexity", goal) is None
    assert seconds_to_paper([point(1.0, k5=0.9)], "accuracy", goal) is None  # a model for one k
    assert paper_goal("classification") == {"1": 0.405, "5": 0.755, "10": 0.895, "20": 0.945}
    assert paper_goal("transduction")["5"] == 2.92


def test_a_budget_is_not_taken_from_a_result_that_no_longer_counts(folders: Folders) -> None:
    jobs = {job.name: job for job in all_jobs()}
    other = jobs["cavia-table1-transduction-0"]
    on_gpu = folders._replace(device="cuda")
    facts = result_of(jobs["tam-best-transduction-0"], on_gpu._replace(results=PUBLISHED))
    assert facts is not None
    folders.results.mkdir()
    copy = folders.results / "tam-best-transduction-0-01234567.json"
    copy.write_text(json.dumps(facts), encoding="utf-8")
    ready = with_budget(other, on_gpu)
    assert ready is not None
    assert ready.seconds == facts["gpu_seconds"]
    copy.write_text(json.dumps(facts | {"version": facts["version"] - 1}), encoding="utf-8")
    assert with_budget(other, on_gpu) is None
