"""Result files: where they are, and which of them still count."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
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
"""How much a budget may differ from the one that is measured now, relatively."""


class Places(NamedTuple):
    """Where results and runs are kept, and the device of the jobs."""

    results: Path
    runs: Path
    device: str

    def result_file(self, job: Job) -> Path:
        """The file of a job's result."""
        return self.results / f"{job.name}.json"

    def error_file(self, job: Job) -> Path:
        """The file that says why a job failed."""
        return self.results / f"{job.name}.error.json"

    def run_folder(self, job: Job) -> Path:
        """The folder of a job's run, one for each combination of settings and tasks."""
        what = {
            "config": job.config(self.device).to_json(),
            "tasks": job.options,
            "versions": versions(job),
            "seconds": job.seconds,
        }
        return self.runs / f"{job.name}-{hashlib.sha256(json_text(what).encode()).hexdigest()[:8]}"


def versions(job: Job) -> dict[str, int]:
    """The versions of the benchmark and the method, raised whenever results would change."""
    return {"benchmark_version": VERSION, "version": METHODS[job.method].version}


def difference(job: Job, result: Mapping[str, Any], device: str) -> str | None:
    """Why a result is not that of a job, in words; None if it is."""
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
    if job.seconds is not None or job.seconds_of is not None:
        config = config.override(**{name: getattr(before.training, name) for name in PLANNED})
    return "; ".join(config.differences(before.to_json())) or None


def _same_budget(before: float | None, now: float | None) -> bool:
    if before is None or now is None:
        return before is now
    return abs(before - now) <= BUDGET_TOLERANCE * now


def with_budget(job: Job, places: Places) -> Job | None:
    """The job with its GPU-seconds; None until the run that they are taken from is there."""
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
    """Whether a job is done, and if not, why."""

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
    write_json(places.error_file(job), {"job": asdict(job), "error": error, "log": log})
