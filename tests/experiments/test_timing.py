"""The timing table: means over k and seeds of the time to the best weights, and of their quality."""

import json
from typing import Any

import pytest

from tam.experiments.jobs import EXPERIMENTS
from tam.experiments.results import Places, versions
from tam.experiments.timing import Timed, timed, timing_report

JOBS = {job.name: job for job in EXPERIMENTS["table1"].jobs()}


def write(places: Places, name: str, steps: dict[int, int], scores: list[float], step_ms: float) -> None:
    job = JOBS[name]
    result: dict[str, Any] = {
        **versions(job),
        "tasks": job.options,
        "config": job.config(places.device).to_json(),
        "budget_seconds": 35.0 if job.seconds_of else None,
        "gpu_seconds": 35.0,
        "best_steps": {str(k): step for k, step in steps.items()},
        "scores": [
            {"k": k, "accuracy": score, "perplexity": score}
            for k, score in zip(steps, scores, strict=True)
        ],
        "step_ms": step_ms,
    }  # fmt: skip
    places.results.mkdir(exist_ok=True)
    places.new_file(job).write_text(json.dumps(result))


def test_time_to_the_best_model(places: Places) -> None:
    assert timing_report(places) == "timing: no run of Table 1 is finished"
    steps = {1: 100, 5: 200, 10: 300, 20: 400}
    write(places, "tam-best-classification-0", steps, [0.4, 0.6, 0.8, 1.0], 10.0)  # 0.7 after 2.5 s
    write(places, "tam-best-classification-2", steps, [0.6, 0.6, 0.6, 0.6], 30.0)  # 0.6 after 7.5 s
    for k in (1, 5, 10):
        write(places, f"snail-table1-classification-k{k}-0", {k: 1000}, [k / 20], 100.0 * k)
    (found,) = timed(places)
    assert (found.model, found.benchmark, found.metric, found.seeds) == (
        "tam",
        "classification",
        "accuracy",
        2,
    )
    assert (found.quality, found.seconds) == pytest.approx((0.65, 5.0))
    write(places, "snail-table1-classification-k20-0", {20: 1000}, [1.0], 2000.0)
    assert timed(places)[1:] == [Timed("snail", "classification", "accuracy", 0.45, 900.0, 1)]
    lines = [line.split("  ") for line in timing_report(places).splitlines()]
    assert [cell.strip() for cell in lines[1] if cell.strip()] == ["tam", "65.0 %, 5 s", "–", "–"]
    assert [cell.strip() for cell in lines[2] if cell.strip()] == ["snail", "45.0 %, 15 min", "–", "–"]
