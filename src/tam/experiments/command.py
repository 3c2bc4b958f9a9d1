"""`tam reproduce`, and `python -m tam.experiments` where only torch, numpy and safetensors are installed."""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from tam.errors import UserError
from tam.experiments.job import Job
from tam.experiments.jobs import EXPERIMENTS, Experiment

if TYPE_CHECKING:
    from tam.experiments.runner import Executor

ALL, MAPS = "all", "embeddings"
"""The name of all experiments, and of the one that needs trained models."""


def main(
    words: Sequence[str] | None = None,
    experiments: Mapping[str, Experiment] = EXPERIMENTS,
    prog: str = "python -m tam.experiments",
) -> None:
    """Run the experiments that the command line names."""
    given = _parser(experiments, prog).parse_args(words)
    try:
        failed = _reproduce(given, experiments)
    except UserError as error:
        sys.exit(f"error: {error}")
    if failed:
        names = ", ".join(job.name for job in failed)
        sys.exit(f"error: {len(failed)} failed: {names}")


def _reproduce(given: argparse.Namespace, experiments: Mapping[str, Experiment]) -> list[Job]:
    """Do what was asked for; the jobs that failed."""
    from tam.experiments.embeddings import EmbeddingMaps
    from tam.experiments.estimate import status_lines, status_summary
    from tam.experiments.results import Places, Status, result_of, status
    from tam.experiments.runner import Runner
    from tam.experiments.timing import timing_report

    places = Places(given.results, given.runs, given.device)
    names = list(experiments) if ALL in given.experiments else given.experiments
    jobs = _chosen([job for name in names for job in experiments[name].jobs()], given)
    scored = {job.name for name in names if name != MAPS for job in experiments[name].jobs()}
    mapped = _chosen(experiments[MAPS].jobs(), given) if MAPS in names else []
    maps = EmbeddingMaps(places, given.results.parent)

    def status_of(job: Job) -> Status:
        """A run that is only mapped needs no result, but its trained model."""
        found = status(job, places) if job.name in scored else Status(True)
        return maps.status(job) if found.done and job in mapped else found

    found = [status_of(job) for job in jobs]
    if given.dry_run:
        print("\n".join([*status_lines(jobs, found), status_summary(jobs, found, places)]))
        return []
    failed = list[Job]()
    if not all(done for done, _ in found):
        runner = Runner(places, _executor(given), given.at_once, given.seconds, status_of)
        runner.run(jobs)
        failed, found = runner.failed, [status_of(job) for job in jobs]
    print(status_summary(jobs, found, places))
    if "timing" in names:
        results = {job.name: result for job in jobs if (result := result_of(job, places)) is not None}
        print(f"\n{timing_report(results)}")
    for line in maps.make(mapped):
        print(line, flush=True)
    return failed


def _chosen(jobs: Iterable[Job], given: argparse.Namespace) -> list[Job]:
    """The jobs asked for: the first seed or hold-out of everything before the second."""
    unique = {job.name: job for job in jobs}.values()
    found = [job for job in unique if any(fnmatch(job.name, pattern) for pattern in given.only or ["*"])]
    if not found:
        raise UserError(
            f"no run of {', '.join(given.experiments)} is called {' or '.join(map(repr, given.only))}"
        )
    return sorted(found, key=lambda job: job.trial)


def _executor(given: argparse.Namespace) -> "Executor":
    if given.on == "here":
        from tam.experiments.run_here import Here

        if given.at_once > 1:
            raise UserError(f"--at-once must be 1 with --on here: got {given.at_once}")
        return Here()
    if given.on == "ray":
        from tam.experiments.run_ray import OnRay

        return OnRay(given.at_once, given.device)
    from tam.experiments.run_workers import Workers

    return Workers()


def _parser(experiments: Mapping[str, Experiment], prog: str) -> argparse.ArgumentParser:
    width = max(map(len, experiments))
    about = (f"  {name:{width}}  {experiment.about}" for name, experiment in experiments.items())
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Train and score the runs behind the paper's tables and figures. What is done is not "
        "done again, and what was stopped goes on.",
        epilog="\n".join(["experiments:", *about, f"  {ALL:{width}}  all of them"]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("experiments", nargs="+", choices=[*experiments, ALL], metavar="EXPERIMENT", help="see below")
    add("--dry-run", action="store_true", help="list what is done, what is left, and the time")
    only = "only runs of this name, such as 'tam-*-0'; repeat"
    add("--only", action="append", metavar="PATTERN", help=only)
    add("--seconds", type=float, metavar="S", help="stop within S seconds; run again to go on")
    add("--at-once", type=_positive, default=1, metavar="N", help="run N at once (default: 1)")
    on = "processes of their own (default), this process, or a Ray cluster (RAY_ADDRESS, or a local one)"
    add("--on", choices=("workers", "here", "ray"), default="workers", help=on)
    add("--device", default="cuda", help="cuda (default) or cpu")
    for name, folder, what in (
        ("--results", "results/runs", "results, a file for each run"),
        ("--runs", "runs/experiments", "checkpoints and trained models"),
    ):
        add(name, type=Path, default=Path(folder), metavar="DIR", help=f"for {what} (default: {folder})")
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1: got {text}")
    return int(text)
