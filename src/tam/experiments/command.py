"""`python -m tam.experiments GROUP…`: train and score the runs behind the published results."""

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
    parser.add_argument(
        "--only", default="*", metavar="PATTERN", help="only jobs of this name, such as 'tam-*-0'"
    )
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="stop within S seconds; run again to continue"
    )
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="run N jobs at once (default: 1)")
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("results/runs"),
        metavar="DIR",
        help="for results (default: results/runs)",
    )
    parser.add_argument(
        "--runs",
        type=Path,
        default=Path("runs/experiments"),
        metavar="DIR",
        help="for checkpoints (default: runs/experiments)",
    )
    parser.add_argument("--device", default="cuda", help="cuda (the default) or cpu")
    parser.add_argument("--dry-run", action="store_true", help="list which jobs are done and which are left")
    return parser


def _listed(jobs: Sequence[Job], places: Places) -> list[str]:
    """A line for each job, and one for all of them."""
    lines, done = [], 0
    for job in jobs:
        found = status(job, places)
        done += found.done
        note = f"  ({found.note})" if found.note else ""
        lines.append(f"{'done' if found.done else 'left'}  {job.name}{note}")
    return [*lines, f"{done} of {len(jobs)} jobs are done, {len(jobs) - done} are left"]
