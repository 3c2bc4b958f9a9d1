"""Jobs that take seconds."""

from collections.abc import Sequence
from typing import Any

from tam.experiments.job import Job
from tam.experiments.jobs import Experiment

TASKS: dict[str, Any] = {"name": "transduction", "train": 4, "valid": 2, "test": 2, "examples": 40}


def small(name: str = "small", group: str = "first", **fields: Any) -> Job:
    """A job with the preset smoke."""
    return Job(**{"name": name, "group": group, "tasks": TASKS, "preset": "smoke"} | fields)


def grids(jobs: Sequence[Job]) -> dict[str, Experiment]:
    """Experiments of these jobs, by their groups."""
    groups = dict.fromkeys(job.group for job in jobs)
    return {
        group: Experiment("", lambda own=group: (job for job in jobs if job.group == own)) for group in groups
    }
