"""Jobs that take seconds."""

from typing import Any

from tam.experiments.job import Job

TASKS: dict[str, Any] = {"name": "transduction", "train": 4, "valid": 2, "test": 2, "examples": 40}


def small(name: str = "small", group: str = "first", **fields: Any) -> Job:
    """A job with the preset smoke."""
    return Job(**{"name": name, "group": group, "tasks": TASKS, "preset": "smoke"} | fields)
