"""`tam generate`: tasks made by random programs, to look at or to write to a file."""

from dataclasses import dataclass, fields
from typing import Annotated

import tyro

from tam.cli.options import optional
from tam.cli.tasks import print_tasks
from tam.config.generated import GenerateOptions, Generator
from tam.errors import UserError
from tam.io import path_of


@dataclass(frozen=True, kw_only=True)
class Generate(GenerateOptions):
    """Generate tasks from random programs: show some of them, or write all to a file."""

    generator: Annotated[Generator, tyro.conf.Positional] = "lists"
    """What to generate: lists, programs on lists of integers."""
    out: Annotated[str | None, optional("FILE")] = None
    """Write the tasks to this file, as JSONL."""
    show: int = 3
    """Number of tasks to print, unless they are written."""

    def run(self) -> None:
        """Generate, and write or print."""
        from tam.report.progress import progress
        from tam.report.tasks import summary
        from tam.tasks.generate import make_generated

        if self.show < 1:
            raise UserError(f"--show must be at least 1: got {self.show}")
        out = None if self.out is None else path_of(self.out, "--out")
        options = {field.name: getattr(self, field.name) for field in fields(GenerateOptions)}
        with progress("making the tasks") as tell:
            tasks = make_generated(GenerateOptions(**options), progress=tell)
        if out is not None:
            tasks.write(out)
            print(f"{summary(tasks)}\nwritten to {out}")
        else:
            print_tasks(tasks, None, self.show)
