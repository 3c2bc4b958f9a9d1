"""`tam generate`: tasks made by random programs, to look at or to write to a file.

The options repeat those of `GenerateOptions`: importing it would import numpy and slow down `tam --help`.
"""

from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import tyro

from tam.cli.options import optional
from tam.cli.tasks import print_tasks
from tam.errors import UserError
from tam.io import path_of


@dataclass(frozen=True)
class Generate:
    """Generate tasks from random programs: show some of them, or write all to a file."""

    generator: Annotated[Literal["lists"], tyro.conf.Positional] = "lists"
    """What to generate: lists, programs on lists of integers."""
    out: Annotated[str | None, optional("FILE")] = None
    """Write the tasks to this file, as JSONL."""
    show: int = 3
    """Number of tasks to print, unless they are written."""
    tasks: int = 2_000
    """Number of tasks; each is a different function."""
    examples: int = 32
    """Number of examples per task."""
    values: int = 100
    """Numbers are from 0 to values - 1."""
    shortest: int = 0
    """Fewest numbers in an input."""
    longest: int = 10
    """Most numbers in an input."""
    longest_answer: int = 15
    """Most numbers in an answer."""
    seed: int = 0
    """Seed of all random draws."""

    def run(self) -> None:
        """Generate, and write or print."""
        from tam.report.progress import progress
        from tam.report.tasks import summary
        from tam.tasks.generate import GenerateOptions, make_generated

        if self.show < 1:
            raise UserError(f"--show must be at least 1: got {self.show}")
        out = None if self.out is None else path_of(self.out, "--out")
        options = {name: value for name, value in asdict(self).items() if name not in ("out", "show")}
        with progress("making the tasks") as tell:
            tasks = make_generated(GenerateOptions(**options), progress=tell)
        if out is not None:
            tasks.write(out)
            print(f"{summary(tasks)}\nwritten to {out}")
        else:
            print_tasks(tasks, None, self.show)
