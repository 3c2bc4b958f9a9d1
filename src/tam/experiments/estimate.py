"""Count finished and missing jobs, and estimate the time of the missing ones from finished runs."""

import operator
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tam.experiments.job import Job
from tam.experiments.jobs import all_jobs
from tam.experiments.results import Folders, Status, result_of


def status_summary(jobs: Sequence[Job], statuses: Sequence[Status], folders: Folders) -> str:
    """One line: how many jobs are done and how many are left, with an estimate of their time."""
    left = [job for job, (done, _) in zip(jobs, statuses, strict=True) if not done]
    counts = f"{len(jobs) - len(left)} of {len(jobs)} runs are done, {len(left)} are left"
    if not left:
        return counts
    everything = {job.name: job for job in (*all_jobs(), *jobs)}.values()
    finished = [(job, result) for job in everything if (result := result_of(job, folders)) is not None]
    known = [seconds for job in left if (seconds := _seconds_of(job, finished, folders.device)) is not None]
    if not known:
        return f"{counts}; without finished runs, their time is unknown"
    total = duration(len(left) * statistics.fmean(known))
    return f"{counts}, which take about {total} on one machine, judging by finished runs"


def _seconds_of(job: Job, finished: Sequence[tuple[Job, Mapping[str, Any]]], device: str) -> float | None:
    """Estimate the seconds of a job: the median of the finished runs most similar to it.

    Similarity compares the experiment first, then method, budget and benchmark. A run that shared its machine
    counts with its share of the wall time.
    """
    on_cpu = (job.device or device) == "cpu"
    found: dict[tuple[bool, ...], list[float]] = {}
    for other, result in finished:
        if result.get("wall_seconds") is not None and on_cpu == (result["config"]["device"] == "cpu"):
            alike = tuple(map(operator.eq, _kind(job), _kind(other)))
            found.setdefault(alike, []).append(result["wall_seconds"] / result["at_once"])
    return statistics.median(found[max(found)]) if found else None


def _kind(job: Job) -> tuple[str, str, float | None, str]:
    return job.group, job.method, job.seconds, job.tasks["name"]


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(50), duration(600), duration(9_000)
    ('50 s', '10 min', '2 h 30 min')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
