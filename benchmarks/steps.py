"""How long a training step takes that has the GPU to itself: what budgets are counted by.

Run `python benchmarks/steps.py NAME...`; it needs only torch, numpy and safetensors, and adds to
results/steps.json. A NAME is METHOD-BENCHMARK for all candidates of tune.py, with -kK where there is one
model per k, or that of a run of ablations.py; `--list` prints all. Several processes may do this on one
GPU: they set up side by side, and measure in turns. Nothing else should use it.

What takes the same time is timed once: settings such as rates do not matter. A method of several phases has
a time for each.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from ablations import all_runs, config_of, subjects
from alone import FOLDER, Turnstile
from tune import GRID, MODERATE, RUN_SHOTS, SETUP, STEPS, let_go, step_key, take_steps

from tam.config import Config, read_json
from tam.errors import UserError
from tam.provenance import provenance
from tam.tasks.benchmark import BenchmarkOptions, Name, make
from tam.training.checkpoint import write_json
from tam.training.loop import Trainer

REPEATS, ENOUGH = 5, 0.06
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
    parser.add_argument("--out", type=Path, default=STEPS, help="the file of results")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--preset", default="best", help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = [*subjects(given.device, given.preset), *all_runs()]
    if given.list:
        print("\n".join(names))
        return
    if not given.names or not set(given.names) <= set(names):
        parser.error("give NAMEs of what is to be timed; --list prints them")
    if given.device != "cpu" and not torch.cuda.is_available():
        sys.exit(f"error: device {given.device!r} was asked for, but torch finds no GPU here")
    done: list[dict[str, Any]] = []
    try:
        for name in given.names:
            for timed in trained_as(name, given.device, given.preset):
                key = step_key(*timed)
                if key not in done and timed.config.training.steps > 0:
                    done.append(key)
                    found = times(timed)
                    add(given.out, {"of": key, "ms": found}, given.device)
                    print(f"{name}: {found}", flush=True)
    except UserError as error:
        sys.exit(f"error: {error}")


def trained_as(name: str, device: str, preset: str) -> Iterator[Timed]:
    """What goes by a name: candidates, or a run."""
    if (run := all_runs().get(name)) is not None:
        yield Timed(config_of(run, device, preset), run.benchmark, run.compositional)
        return
    subject = subjects(device, preset)[name]
    for values in GRID[subject.method]:
        yield Timed(subject.config(values, MODERATE, RUN_SHOTS), subject.benchmark, False)


def times(timed: Timed) -> dict[str, float]:
    """The milliseconds of a step of each phase."""
    tasks = make(BenchmarkOptions(name=timed.benchmark, compositional=timed.compositional))
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(timed.config, tasks, Path(folder))
        for first in (0, timed.config.training.steps - 1):
            phase = str(trainer.method.phase(first))
            if phase not in found:
                trainer.state.step = first
                take_steps(trainer, SETUP)
                found[phase] = milliseconds(trainer)
        del trainer
    let_go(timed.config.device)
    return found


def milliseconds(trainer: Trainer) -> float:
    """Of a step, while others wait."""
    with Turnstile().alone():
        take_steps(trainer, 1)
        count = max(1, round(ENOUGH / take_steps(trainer, 1)))
        return round(1000 * statistics.median(take_steps(trainer, count) / count for _ in range(REPEATS)), 4)


def add(file: Path, row: dict[str, Any], device: str) -> None:
    """Note a time, in the place of one of the same, whoever else does."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with Turnstile(FOLDER.with_name("tam-steps")).alone():
        before = read_json(file)["steps"] if file.exists() else []
        facts = {
            "what": "milliseconds of a training step that has the GPU to itself, of each phase of a method",
            "command": "python benchmarks/steps.py",
            "steps": [*(other for other in before if other["of"] != row["of"]), row],
            "device": torch.cuda.get_device_name() if device != "cpu" else "cpu",
            "torch": torch.__version__,
            **provenance(),
        }
        write_json(file, facts)


if __name__ == "__main__":
    main()
