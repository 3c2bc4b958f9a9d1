"""The command `tam reproduce`, which needs only torch, numpy and safetensors."""

import argparse
import math
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
"""The word for all experiments, and the name of the one that needs trained models."""


def main(words: Sequence[str], experiments: Mapping[str, Experiment] = EXPERIMENTS) -> None:
    """Run the experiments named on the command line."""
    if failed := _reproduce(_parser(experiments).parse_args(words), experiments):
        names = ", ".join(job.name for job in failed)
        sys.exit(f"error: {len(failed)} failed: {names}")


def _reproduce(options: argparse.Namespace, experiments: Mapping[str, Experiment]) -> list[Job]:
    """Carry out the command, and return the jobs that failed."""
    from tam.experiments.embeddings import EmbeddingMaps
    from tam.experiments.estimate import status_summary
    from tam.experiments.results import Folders, Status, check_files, result_of, status
    from tam.experiments.runner import Runner
    from tam.experiments.timing import timing_report
    from tam.training.preflight import check_device

    folders = Folders(options.results, options.runs, options.device)
    check_files(folders)
    names = list(experiments) if ALL in options.experiments else options.experiments
    jobs = _chosen([job for name in names for job in experiments[name].jobs()], options)
    scored = {job.name for name in names if name != MAPS for job in experiments[name].jobs()}
    mapped = _chosen(experiments[MAPS].jobs(), options) if MAPS in names else []
    maps = EmbeddingMaps(folders, options.results.parent)

    def status_of(job: Job) -> Status:
        """Whether a job is done: one that is only mapped needs its trained model, but no result."""
        one = status(job, folders) if job.name in scored else Status(True)
        return maps.status(job) if one.done and job in mapped else one

    statuses = [status_of(job) for job in jobs]
    if options.dry_run:
        for job, (done, note) in zip(jobs, statuses, strict=True):
            print(f"{'done' if done else 'left'}  {job.name}{f'  ({note})' if note else ''}")
        print(status_summary(jobs, statuses, folders))
        return []
    failed = list[Job]()
    if left := [job for job, (done, _) in zip(jobs, statuses, strict=True) if not done]:
        if options.on != "ray" and not all(job.device for job in left):
            check_device(options.device)
        for folder in (options.results, options.runs):
            _make(folder)
        runner = Runner(folders, _executor(options), options.at_once, options.seconds, status_of)
        runner.run(jobs)
        failed, statuses = runner.failed, [status_of(job) for job in jobs]
    print(status_summary(jobs, statuses, folders))
    if "timing" in names:
        results = {job.name: result for job in jobs if (result := result_of(job, folders)) is not None}
        print(f"\n{timing_report(results)}")
    for line in maps.make(mapped):
        print(line, flush=True)
    return failed


def _make(folder: Path) -> None:
    """Make a folder now, since an error at the end of a run would lose its result."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from None


def _chosen(jobs: Iterable[Job], options: argparse.Namespace) -> list[Job]:
    """Select jobs by `--only`, ordered so that the first seed or hold-out of everything comes first."""
    unique = {job.name: job for job in jobs}.values()
    chosen = [job for job in unique if any(fnmatch(job.name, pattern) for pattern in options.only or ["*"])]
    if not chosen:
        raise UserError(
            f"no run of {', '.join(options.experiments)} is called {' or '.join(map(repr, options.only))}"
        )
    return sorted(chosen, key=lambda job: job.trial)


def _executor(options: argparse.Namespace) -> "Executor":
    if options.on == "here":
        from tam.experiments.run_here import Here

        if options.at_once > 1:
            raise UserError(f"--at-once must be 1 with --on here: got {options.at_once}")
        return Here()
    if options.on == "ray":
        from tam.experiments.run_ray import OnRay

        return OnRay(options.at_once, options.device)
    from tam.experiments.run_workers import Workers

    return Workers()


def _parser(experiments: Mapping[str, Experiment]) -> argparse.ArgumentParser:
    width = max(map(len, experiments))
    about = (f"  {name:{width}}  {experiment.about}" for name, experiment in experiments.items())
    parser = argparse.ArgumentParser(
        prog="tam reproduce",
        description="Train and score the runs behind the paper's tables and figures. Finished runs are "
        "skipped, stopped runs continue.",
        epilog="\n".join(["experiments:", *about, f"  {ALL:{width}}  all of them"]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("experiments", nargs="+", choices=[*experiments, ALL], metavar="EXPERIMENT", help="see below")
    add("--dry-run", action="store_true", help="list finished and missing runs, and estimate the time")
    only = "only runs with this name, such as 'tam-*-0'; may be repeated"
    add("--only", action="append", metavar="PATTERN", help=only)
    add("--seconds", type=_seconds, metavar="S", help="stop within S seconds; run again to continue")
    add("--at-once", type=_positive, default=1, metavar="N", help="run N at once (default: 1)")
    on = "one process per run (default), this process, or a Ray cluster (RAY_ADDRESS, or a local one)"
    add("--on", choices=("workers", "here", "ray"), default="workers", help=on)
    add("--device", default="cuda", help="cuda (default) or cpu")
    for name, folder, what in (
        ("--results", "results/runs", "results, one file per run"),
        ("--runs", "runs/experiments", "checkpoints and trained models"),
    ):
        add(name, type=_folder, default=Path(folder), metavar="DIR", help=f"for {what} (default: {folder})")
    return parser


def _folder(text: str) -> Path:
    if (folder := Path(text)).exists() and not folder.is_dir():
        raise argparse.ArgumentTypeError(f"must be a folder: got {text}")
    return folder


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise argparse.ArgumentTypeError(f"must be a number above 0: got {text}")
    return seconds


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1: got {text}")
    return int(text)
