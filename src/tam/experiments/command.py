"""`python -m tam.experiments GROUP…`: make the runs behind the published results."""

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from tam.errors import UserError
from tam.experiments.job import Job
from tam.experiments.jobs import all_jobs
from tam.experiments.results import Places, status
from tam.experiments.runner import Runner


def main(words: Sequence[str] | None = None, jobs: Sequence[Job] | None = None) -> None:
    """Run the jobs that the command line names."""
    jobs = all_jobs() if jobs is None else jobs
    groups = list(dict.fromkeys(job.group for job in jobs))
    given = _parser(groups).parse_args(words)
    chosen = [job for job in jobs if job.group in given.groups and fnmatch(job.name, given.only)]
    places = Places(given.results, given.runs, given.device)
    try:
        if not chosen:
            raise UserError(f"no job of {', '.join(given.groups)} is called {given.only!r}")
        if given.dry_run:
            print("\n".join(_listed(chosen, places)))
            return
        runner = Runner(places, given.at_once, given.seconds)
        runner.run(chosen)
    except UserError as error:
        sys.exit(f"error: {error}")
    print(_listed(chosen, places)[-1])
    if runner.failed:
        sys.exit(f"error: {len(runner.failed)} failed: {', '.join(job.name for job in runner.failed)}")


def _parser(groups: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tam.experiments", description=__doc__)
    parser.add_argument("groups", nargs="+", choices=groups, metavar="GROUP", help=", ".join(groups))
    parser.add_argument("--only", default="*", metavar="PATTERN", help="names of jobs, such as 'tam-*-0'")
    parser.add_argument("--seconds", type=_positive, help="stop in time: running jobs can go on later")
    parser.add_argument("--at-once", type=_count, default=1, metavar="N", help="how many jobs run at once")
    parser.add_argument("--results", type=Path, default=Path("results/runs"), metavar="DIR")
    parser.add_argument("--runs", type=Path, default=Path("runs/experiments"), metavar="DIR")
    parser.add_argument("--device", default="cuda", help="cuda, or cpu")
    parser.add_argument("--dry-run", action="store_true", help="list the jobs: what is done, what is left")
    return parser


def _positive(text: str) -> float:
    if not (value := float(text)) > 0:
        raise argparse.ArgumentTypeError(f"must be above 0: got {text}")
    return value


def _count(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1: got {text}")
    return value


def _listed(jobs: Sequence[Job], places: Places) -> list[str]:
    """A line for each job, and one for all."""
    found = [(job, status(job, places)) for job in jobs]
    lines = [
        f"{'done' if one.done else 'left'}  {job.name}{f'  ({one.note})' if one.note else ''}"
        for job, one in found
    ]
    done = sum(one.done for _, one in found)
    return [*lines, f"{done} of {len(jobs)} jobs are done, {len(jobs) - done} are left"]
