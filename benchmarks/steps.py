"""How long a training step takes that has the GPU to itself: what budgets are counted by.

Run `python benchmarks/steps.py NAME...`; it needs only torch, numpy and safetensors, and adds to
results/steps.json. A NAME is METHOD-BENCHMARK for all candidates of tune.py, with -kK where there is one
model per k, or that of a run of ablations.py; `--list` prints all. Nothing else should use the GPU: steps
are set up side by side, so many at once, and then timed one by one.

What takes the same time is timed once: settings such as rates do not matter. A method of several phases has
a time for each.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from ablations import all_runs, config_of, subjects
from alone import FailedError, one_by_one
from budget import STEPS, device_name, step_key, take_steps
from tune import GRID, MODERATE, RUN_SHOTS

from tam.config import Config
from tam.errors import UserError
from tam.files import read_json
from tam.provenance import provenance
from tam.tasks.benchmark import BenchmarkOptions, Name, make
from tam.training.checkpoint import write_json
from tam.training.checks import check_device
from tam.training.loop import Trainer

SETUP = 6
"""Steps until one is recorded for sure."""
FAR = 10**9
"""A step of the last phase of any method."""
REPEATS, ENOUGH = 5, 0.1
"""How often some steps are timed, of which the median counts; and for how many seconds each time, about."""


class Timed(NamedTuple):
    """What is trained."""

    config: Config
    benchmark: Name
    compositional: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--out", type=Path, default=STEPS, help="the file of results; other times stay")
    parser.add_argument("--at-once", type=int, default=12, metavar="N", help="how many are set up together")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--preset", default="best", help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = [*subjects(given.device, given.preset), *all_runs()]
    if given.list:
        print("\n".join(names))
        return
    if not given.names or not set(given.names) <= set(names):
        parser.error("give NAMEs of what is to be timed; --list prints them")
    if given.at_once < 1:
        parser.error(f"--at-once is at least 1, not {given.at_once}")
    try:
        check_device(given.device)
        jobs = {str(step_key(*timed)): timed for name in given.names for timed in trained_as(name, given)}
        for timed, found in one_by_one(list(jobs.values()), set_up, given.at_once):
            key = step_key(*timed)
            add(given.out, {"of": key, "ms": found}, given.device)
            print(f"{timed.config.method} on {timed.benchmark}: {found} ms, {key}", flush=True)
    except (UserError, FailedError) as error:
        sys.exit(f"error: {error}")
    print(f"written: {given.out}")


def trained_as(name: str, given: argparse.Namespace) -> Iterator[Timed]:
    """What goes by a name and is trained: candidates, or a run."""
    if (run := all_runs().get(name)) is not None:
        found = [Timed(config_of(run, given.device, given.preset), run.benchmark, run.compositional)]
    else:
        subject = subjects(given.device, given.preset)[name]
        configs = (subject.config(values, MODERATE, RUN_SHOTS) for values in GRID[subject.method])
        found = [Timed(config, subject.benchmark, False) for config in configs]
    yield from (timed for timed in found if timed.config.training.steps > 0)


@contextmanager
def set_up(timed: Timed) -> Generator[Callable[[], dict[str, float]]]:
    """A trainer that has recorded a step of each phase; what is given times them."""
    tasks = make(BenchmarkOptions(name=timed.benchmark, compositional=timed.compositional))
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(timed.config.override(steps=FAR + 10**6), tasks, Path(folder))
        first = {str(trainer.method.phase(step)): step for step in (FAR, 0)}
        for step in first.values():
            trainer.state.step = step
            take_steps(trainer, SETUP)
        yield lambda: {phase: milliseconds(trainer, step) for phase, step in sorted(first.items())}


def milliseconds(trainer: Trainer, step: int) -> float:
    """Of a step, and others of its phase."""
    trainer.state.step = step
    take_steps(trainer, 1)
    count = max(1, round(ENOUGH / take_steps(trainer, 1)))
    found = [1000 * take_steps(trainer, count) / count for _ in range(REPEATS)]
    return round(statistics.median(found), 4)


def add(file: Path, row: dict[str, Any], device: str) -> None:
    """Note a time, in the place of one of the same."""
    before = read_json(file)["steps"] if file.exists() else []
    facts = {
        "what": "milliseconds of a training step that has the GPU to itself, of each phase of a method",
        "command": "python benchmarks/steps.py",
        "steps": [*(other for other in before if other["of"] != row["of"]), row],
        "device": device_name(device),
        "torch": torch.__version__,
        **provenance(),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, facts)


if __name__ == "__main__":
    main()
