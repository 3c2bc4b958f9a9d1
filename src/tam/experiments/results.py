"""Result files: their names, and which of them count.

The result of a job is `NAME-XXXXXXXX.json`, with eight hex digits of a hash of everything that determines it.
It is never overwritten: if settings, benchmark or method change, so does the name of the file. The old result
stays but no longer counts.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
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
from tam.training.folder import is_locked, lock_file

BUDGET_TOLERANCE = 0.02
"""Allowed relative difference from a job's budget, which is measured."""

HEX_DIGITS = "[0-9a-f]" * 8
"""A `short_hash` at the end of the names of files and folders, as a glob pattern."""

Result = dict[str, Any]


class Folders(NamedTuple):
    """The folders of results and runs, and the device of the jobs."""

    results: Path
    runs: Path
    device: str

    def result_file(self, job: Job) -> Path:
        """The file for the result of a job whose budget is known."""
        return self.results / f"{self._stem(job)}.json"

    def error_file(self, job: Job) -> Path:
        """The file with the error of a failed job."""
        return self.results / f"{job.name}.error.json"

    def run_folder(self, job: Job) -> Path:
        """The folder of a job's run, one for each combination of settings and tasks."""
        return self.runs / self._stem(job)

    def _stem(self, job: Job) -> str:
        """The name of a job with eight hex digits of a hash of everything that determines its result."""
        what = {
            "config": job.config(self.device).to_json(),
            "tasks": job.options,
            "versions": versions(job),
            "seconds": job.seconds,
        }
        return f"{job.name}-{short_hash(what)}"


def short_hash(values: object) -> str:
    """Eight hex digits of a hash of JSON values."""
    return hashlib.sha256(json_text(values).encode()).hexdigest()[:8]


def versions(job: Job) -> dict[str, int]:
    """The versions of benchmark and method, which are raised whenever results would change."""
    return {"benchmark_version": VERSION, "version": METHODS[job.method].version}


def mismatch(job: Job, result: Mapping[str, Any], device: str) -> str | None:
    """Why a result does not belong to a job; None if it does."""
    for name, now in versions(job).items():
        if result.get(name) != now:
            return f"{name} was {result.get(name)} and is {now}"
    if result.get("tasks") != job.options:
        return "the tasks differ"
    was, now = result.get("budget_seconds"), job.seconds
    if was != now and not (was and now and abs(was - now) <= BUDGET_TOLERANCE * now):
        return f"budget_seconds was {was} and is {now}"
    try:
        config, before = job.config(device), Config.from_json(result["config"])
    except (KeyError, TypeError, UserError) as error:
        return f"its config cannot be read: {error}"
    budgeted = job.seconds is not None or job.seconds_of is not None
    if budgeted and before.training.steps < config.training.steps:
        config = config.override(**{name: getattr(before.training, name) for name in PLANNED})
    return "; ".join(config.differences(before.to_json())) or None


def result_of(job: Job, folders: Folders) -> Result | None:
    """The result that counts for a job, if any; of several, the earliest, timed ones first."""
    ready = with_budget(job, folders)
    if ready is None:
        return None
    matching = [one for one in _written(job.name, folders) if mismatch(ready, one, folders.device) is None]
    return min(matching, key=lambda one: (not is_timed(one), one.get("finished", "")), default=None)


def _written(name: str, folders: Folders) -> list[Result]:
    """All results of jobs with this name, including those that no longer count."""
    return [read_json(file) for file in sorted(folders.results.glob(f"{name}-{HEX_DIGITS}.json"))]


def check_files(folders: Folders) -> None:
    """Raise an error if a result or error file is damaged: a run could not write its result beside it."""
    for file in sorted(folders.results.glob("*.json")):
        read_json(file)


def is_timed(result: Mapping[str, Any]) -> bool:
    """Whether a result has the time of its steps, or needs none: on a CPU, or without steps."""
    on_cpu = result.get("config", {}).get("device") == "cpu"
    return on_cpu or not result.get("steps") or result.get("gpu_seconds") is not None


def with_budget(job: Job, folders: Folders) -> Job | None:
    """Set the GPU-seconds of a job; None while the job that defines them has no result."""
    if job.seconds_of is None:
        return job
    source = _jobs_by_name().get(job.seconds_of)
    seconds = ((result_of(source, folders) if source else None) or {}).get("gpu_seconds")
    return None if seconds is None else replace(job, seconds=seconds, seconds_of=None)


@cache
def _jobs_by_name() -> dict[str, Job]:
    return {job.name: job for job in all_jobs()}


class Status(NamedTuple):
    """Whether a job is done, and if not, why not."""

    done: bool
    note: str = ""


def status(job: Job, folders: Folders) -> Status:
    """Whether a job has its result."""
    try:
        return _status(job, folders)
    except UserError as error:
        return Status(False, f"cannot run: {error}")


def _status(job: Job, folders: Folders) -> Status:
    ready = with_budget(job, folders)
    if ready is None:
        return Status(False, f"needs {job.seconds_of}")
    if (result := result_of(ready, folders)) is not None and is_timed(result):
        return Status(True)
    if result is not None:
        return Status(False, "not timed")
    if folders.error_file(job).exists():
        return Status(False, f"failed: {read_json(folders.error_file(job))['error']}")
    folder = folders.run_folder(ready)
    if is_locked(lock_file(folder)):
        return Status(False, "running")
    if (folder / "config.json").exists():
        return Status(False, "interrupted")
    old = [mismatch(ready, result, folders.device) for result in _written(job.name, folders)]
    return Status(False, f"changed: {old[-1]}" if old else "")


def write_result(job: Job, folders: Folders, result: Result) -> None:
    """Write the result of a job that this process works on, unless there is a timed one already."""
    folders.results.mkdir(parents=True, exist_ok=True)
    known, file = result_of(job, folders), folders.result_file(job)
    if known is None and file.exists():
        raise UserError(f"{file}: there is another result, which is never overwritten: move it away")
    if known is None or not is_timed(known):
        write_json(file, result)
    folders.error_file(job).unlink(missing_ok=True)


def write_error(job: Job, folders: Folders, error: str, log: str) -> None:
    """Record that a job failed."""
    folders.results.mkdir(parents=True, exist_ok=True)
    write_json(folders.error_file(job), {"job": asdict(job), "error": error, "log": log})
