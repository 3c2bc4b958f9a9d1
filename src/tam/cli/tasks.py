"""`tam tasks`: look at the tasks of a benchmark, or of your own file."""

import os
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import tyro

from tam.cli.parsing import path
from tam.errors import UserError

if TYPE_CHECKING:
    from tam.tasks.benchmark import BenchmarkOptions
    from tam.tasks.taskset import TaskSet

Number = Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="")]


@dataclass(frozen=True)
class Tasks:
    """Look at the tasks of a benchmark, or of your own file."""

    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """classification, transduction, pathfinding, or a JSONL file or folder of tasks."""
    show: Number = None
    """How many tasks to print, with a few examples each; 3 if not given."""
    task: Annotated[str | None, tyro.conf.arg(metavar="PATTERN")] = None
    """Only tasks whose name contains this, or matches it as a pattern with * and ?."""
    stats: bool = False
    """Print counts by primitive, lengths, class balance and uniqueness instead."""
    ceiling: bool = False
    """Print how well a Bayes-optimal learner does, at k = 0, 1, 5, 10, 20."""
    out: Annotated[Path | None, path("--out", "FILE")] = None
    """Write the whole set to this file, as JSONL."""
    compositional: bool = False
    """Give primitives; valid and test tasks have one that training never shows."""
    holdout: Number = None
    """Which of the 8 draws of unseen primitives; compositional only, where it is 0 if not given."""
    seed: Number = None
    """Everything random follows from it; 0 if not given."""
    n: Number = None
    """The largest parameter of a primitive; classification only."""
    train: Number = None
    """How many training tasks; as many as the paper has if not given."""
    valid: Number = None
    """How many validation tasks; likewise."""
    test: Number = None
    """How many test tasks; likewise."""
    examples: Number = None
    """How many examples a training task has; likewise."""

    def run(self) -> None:
        """Print what was asked for."""
        from tam.report.tasks import describe, select, statistics, summary

        self._check()
        tasks, options = self._load()
        if self.out is not None:
            tasks.write(self.out)
            print(f"{summary(tasks)}\nwritten to {self.out}")
        elif self.ceiling:
            self._print_ceiling(options)
        elif self.stats:
            print(statistics(tasks))
        else:
            chosen = select(tasks, self.task, 3 if self.show is None else self.show)
            described = [describe(tasks, split, task, colour=_colour()) for split, task in chosen]
            print("\n\n".join([summary(tasks), *described]))

    def _check(self) -> None:
        asked = [name for name in ("stats", "ceiling", "out") if getattr(self, name)]
        if len(asked) > 1:
            raise UserError(f"--{asked[0]} and --{asked[1]} are two commands: give one of them")
        if asked and self.task is not None:
            raise UserError(f"--task has no effect together with --{asked[0]}")
        if asked and self.show is not None:
            raise UserError(f"--show has no effect together with --{asked[0]}")
        if self.show is not None and self.show < 1:
            raise UserError(f"--show is at least 1, not {self.show}")

    def _load(self) -> "tuple[TaskSet, BenchmarkOptions | None]":
        from tam.report.progress import progress
        from tam.tasks.benchmark import BenchmarkOptions, Name, make
        from tam.tasks.jsonl import read_tasks

        known = {field.name for field in fields(BenchmarkOptions)} - {"name"}
        fields_given = {name: getattr(self, name) for name in known}
        given = {
            name: value for name, value in fields_given.items() if value is not None and value is not False
        }
        if self.source not in get_args(Name) and os.path.exists(self.source):
            if given := sorted(set(given) - {"seed"}):
                raise UserError(f"--{given[0]} has no effect on tasks that are read from a file")
            if self.ceiling:
                raise UserError("--ceiling needs to know the task distribution, so it is for benchmarks only")
            return read_tasks(self.source, seed=self.seed), None
        if "/" in self.source or self.source.endswith(".jsonl"):
            raise UserError(f"{self.source}: there is no such file or folder")
        options = BenchmarkOptions(name=self.source, **given)  # pyright: ignore[reportArgumentType]
        with progress("making the tasks") as tell:
            return make(options, progress=tell), options

    def _print_ceiling(self, options: "BenchmarkOptions | None") -> None:
        from tam.report.progress import progress
        from tam.report.table import table
        from tam.tasks.ceiling import ceiling

        assert options is not None
        with progress("computing the ceiling") as tell:
            scores = ceiling(options, progress=tell)
        if options.name == "classification":
            rows = [[k, f"{score:.1%}"] for k, score in scores.items()]
            print(table(["k per class", "accuracy"], rows))
        else:
            print(table(["k", "perplexity"], [[k, f"{score:.3f}"] for k, score in scores.items()]))


def _colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
