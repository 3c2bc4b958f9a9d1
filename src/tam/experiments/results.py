"""Result files: which of them count, and where a run and its error are kept."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tam.config.config import Config
from tam.errors import UserError
from tam.experiments.job import PLANNED, Job
from tam.experiments.jobs import all_jobs
from tam.io import json_text, read_json
from tam.methods import METHODS
from tam.tasks.benchmark import VERSION
from tam.training.checkpoint import write_json

BUDGET_TOLERANCE = 0.02
"""By how much the GPU-seconds of a run may differ from those it would be given now."""


class Places(NamedTuple):
    """Where results and runs are kept, and the device that jobs run on."""

    results: Path
    runs: Path
    device: str

    def result_file(self, job: Job) -> Path:
        """Where the result of a job is written."""
        return self.results / f"{job.name}.json"

    def error_file(self, job: Job) -> Path:
        """Where the error of a job is written that failed."""
        return self.results / f"{job.name}.error.json"

    def run_folder(self, job: Job) -> Path:
        """The folder of a job's run; a job with other settings or tasks has another."""
        what = {
            "config": job.config(self.device).to_json(),
            "tasks": job.options,
            "versions": versions(job),
            "seconds": job.seconds,
        }
        return self.runs / f"{job.name}-{hashlib.sha256(json_text(what).encode()).hexdigest()[:8]}"


def versions(job: Job) -> dict[str, int]:
    """The versions of the benchmark and the method, which are raised when results change."""
    return {"benchmark_version": VERSION, "version": METHODS[job.method].version}


def difference(job: Job, result: Mapping[str, Any], device: str) -> str | None:
    """Why a result is not the one of a job, in words; None if it is."""
    for name, now in versions(job).items():
        if result.get(name) != now:
            return f"{name} was {result.get(name)} and is {now}"
    if result.get("tasks") != job.options:
        return "the tasks are others"
    if not _same_budget(result.get("budget_seconds"), job.seconds):
        return f"budget_seconds was {result.get('budget_seconds')} and is {job.seconds}"
    config = job.config(device)
    try:
        before = Config.from_json(result["config"])
    except (KeyError, TypeError, UserError) as error:
        return f"its config cannot be read: {error}"
    if job.has_budget:
        config = config.override(**{name: getattr(before.training, name) for name in PLANNED})
    return "; ".join(config.differences(before.to_json())) or None


def _same_budget(before: float | None, now: float | None) -> bool:
    """Whether two budgets differ by no more than the time of a step does when it is measured again."""
    if before is None or now is None:
        return before is now
    return abs(before - now) <= BUDGET_TOLERANCE * now


def with_budget(job: Job, places: Places) -> Job | None:
    """The job with its GPU-seconds; None while the run is not there that says how many they are."""
    if job.seconds_of is None:
        return job
    file = places.results / f"{job.seconds_of}.json"
    result = read_json(file) if file.exists() else {}
    source = next((other for other in all_jobs() if other.name == job.seconds_of), None)
    if source is not None and result and difference(source, result, places.device):
        return None  # it no longer counts
    seconds = result.get("gpu_seconds")
    return None if seconds is None else replace(job, seconds=seconds, seconds_of=None)


class Status(NamedTuple):
    """Whether a job is done, and what else there is to say of it."""

    done: bool
    note: str = ""


def status(job: Job, places: Places) -> Status:
    """Whether the result of a job is there."""
    try:
        return _status(job, places)
    except UserError as error:
        return Status(False, f"cannot run: {error}")


def _status(job: Job, places: Places) -> Status:
    ready = with_budget(job, places)
    if ready is None:
        return Status(False, f"needs {job.seconds_of}")
    file = places.result_file(job)
    if file.exists():
        result = read_json(file)
        if changed := difference(ready, result, places.device):
            return Status(False, f"changed: {changed}")
        untimed = result.get("gpu_seconds") is None and ready.config(places.device).device != "cpu"
        return Status(False, "not timed") if untimed and result.get("steps") else Status(True)
    if places.error_file(job).exists():
        return Status(False, f"failed: {read_json(places.error_file(job))['error']}")
    if (places.run_folder(ready) / "config.json").exists():
        return Status(False, "begun")
    return Status(False)


def write_error(job: Job, places: Places, error: str, log: str) -> None:
    """Record that a job failed."""
    places.results.mkdir(parents=True, exist_ok=True)
    write_json(places.error_file(job), {"job": job.to_json(), "error": error, "log": log})
