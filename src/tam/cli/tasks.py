"""`tam tasks`: look at the tasks of a benchmark, or of your own file."""

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from tam.cli.options import Name, optional
from tam.errors import UserError
from tam.io import path_of

if TYPE_CHECKING:
    from tam.tasks.taskset import TaskSet

Number = Annotated[int | None, optional("INT")]
Text = Annotated[
    str | None,
    optional(
        "STR",
        "Your own tasks: split text into characters or words, or with a tokenizer.json of the library "
        "tokenizers, or a folder that has one.",
    ),
]
Splits = Annotated[
    str | None,
    optional(
        "FILE",
        'Your own tasks: a file {"train": [names], "valid": [names], "test": [names]}, or with folds.',
    ),
]
FoldOption = Annotated[
    str | None,
    optional("I/N", "Your own tasks: test on fold I of N, validate on the next one, and train on the rest."),
]
READING = ("splits", "fold", "text", "kind", "columns")
"""The options for reading a file of tasks."""
AnswerKind = Annotated[
    Literal["classification", "transduction"] | None,
    optional("KIND", "Your own tasks in a table: whether answers are labels, or sequences (transduction)."),
]
ColumnNames = Annotated[
    str | None,
    optional("NAMES", "Your own tasks in a table: its columns for task, x and y: customer,message,label."),
]


@dataclass(frozen=True)
class Tasks:
    """Look at the tasks of a benchmark, or of your own file."""

    source: Name
    """classification, transduction, pathfinding, or a JSONL, CSV or Parquet file or a folder of tasks."""
    show: int = 3
    """Number of tasks to print, with a few examples each."""
    task: Annotated[str | None, optional("PATTERN")] = None
    """Only tasks whose name contains this text, or matches this pattern with * and ?."""
    stats: bool = False
    """Print statistics and warnings instead: counts by primitive, lengths, class balance, uniqueness."""
    ceiling: bool = False
    """Print the scores of a Bayes-optimal learner at k = 0, 1, 5, 10, 20."""
    out: Annotated[str | None, optional("FILE")] = None
    """Write the whole set to this file, as JSONL."""
    splits: Splits = None
    fold: FoldOption = None
    text: Text = None
    kind: AnswerKind = None
    columns: ColumnNames = None
    compositional: bool = False
    """Use the compositional form: valid and test tasks have one primitive that training never showed."""
    holdout: Number = None
    """Which primitives are held out, 0 to 7; compositional only. 0 if not given."""
    seed: Number = None
    """Seed of the tasks, or of the split of a file without splits. 0 if not given."""
    n: Number = None
    """Largest parameter of a primitive; classification only. 11, or 15 if compositional, if not given."""
    train: Number = None
    """Number of training tasks; the paper's if not given."""
    valid: Number = None
    """Number of validation tasks; the paper's if not given."""
    test: Number = None
    """Number of test tasks; the paper's if not given."""
    examples: Number = None
    """Number of examples per training task; the paper's if not given."""

    def run(self) -> None:
        """Print or write the tasks."""
        from tam.report.progress import progress
        from tam.report.tasks import statistics, summary
        from tam.tasks.advice import advice
        from tam.tasks.benchmark import BenchmarkOptions, make
        from tam.tasks.ceiling import ceiling
        from tam.tasks.jsonl import read_tasks

        if self.show < 1:
            raise UserError(f"--show must be at least 1: got {self.show}")
        out = None if self.out is None else path_of(self.out, "--out")
        names = ("compositional", "holdout", "seed", "n", "train", "valid", "test", "examples")
        reading = {name: getattr(self, name) for name in READING}
        source = source_of(self.source, {name: getattr(self, name) for name in names}, reading)
        options = None if "path" in source else BenchmarkOptions(**source)
        if options is None and self.ceiling:
            raise UserError("--ceiling needs the task distribution, which only a benchmark has")
        with progress("making the tasks") as tell:
            tasks = read_tasks(**source, partial=True) if options is None else make(options, progress=tell)
        if out is not None:
            tasks.write(out)
            print(f"{summary(tasks)}\nwritten to {out}")
        if self.stats:
            print(statistics(tasks))
            if options is None and (warnings := advice(tasks)):
                print("", *(f"warning: {line}" for line in warnings), sep="\n")
        if options is not None and self.ceiling:
            with progress("computing the ceiling") as tell:
                scores = ceiling(options, progress=tell)
            print(_ceiling_table(options.name, scores))
        if not (out or self.stats or self.ceiling):
            print_tasks(tasks, self.task, self.show)


def print_tasks(tasks: "TaskSet", pattern: str | None, count: int) -> None:
    """Print some tasks that match a pattern, with a few examples each."""
    from tam.report.tasks import select, summary, task_lines

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    shown = (task_lines(tasks, split, task, colour=colour) for split, task in select(tasks, pattern, count))
    print("\n\n".join([summary(tasks), *shown]))


def _ceiling_table(benchmark: str, scores: Mapping[int, float]) -> str:
    from tam.report.table import table

    if benchmark == "classification":
        return table(["k per class", "accuracy"], [[k, f"{score:.1%}"] for k, score in scores.items()])
    return table(["k", "perplexity"], [[k, f"{score:.3f}"] for k, score in scores.items()])


def source_of(name: str, options: Mapping[str, Any], reading: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the source of tasks for a config: a benchmark with these options, or a file or folder.

    `reading` has the options for reading a file; their values may be paths.
    """
    from tam.tasks.benchmark import BenchmarkName, BenchmarkOptions

    given = {option: value for option, value in options.items() if value is not None}
    if name not in get_args(BenchmarkName):
        if name and os.path.exists(name):
            seed = {"seed": given["seed"]} if "seed" in given else {}
            asked = {option: _absolute(value) for option, value in reading.items() if value is not None}
            return {"path": str(Path(name).resolve()), **seed, **asked}
        if "/" in name or name.lower().endswith((".jsonl", ".csv", ".tsv", ".parquet")):
            raise UserError(f"{name}: there is no such file or folder")
    made = asdict(BenchmarkOptions(name=name, **given))  # pyright: ignore[reportArgumentType]
    return {option: value for option, value in made.items() if value is not None}


def prior_source(name: str, tasks: int | None, seed: int) -> dict[str, Any]:
    """Return the source of a prior for a config: a generator, a benchmark or a file."""
    asked = {} if tasks is None else {"tasks": tasks}
    if name == "lists":
        return {"generator": name, **asked, "seed": seed}
    source = source_of(name, {"seed": seed, "train": tasks}, {})
    if "path" in source and tasks is not None:
        raise UserError(f"--prior-tasks is for generated tasks: {name} is a file, whose tasks are all used")
    return source


def note_on_splits(tasks: "TaskSet") -> str:
    """Note that the splits of a file were drawn, and how to choose others; empty if they were given."""
    path, drawn = tasks.options.get("path"), tasks.options.get("seed")
    if path is None or drawn is None or "fold" in tasks.options:
        return ""
    sizes = ", ".join(f"{len(members)} {split}" for split, members in tasks.splits.items())
    beside = Path(str(path)).with_name("splits.json")
    other = f"; {beside} is not used" if beside.is_file() else ""
    return f"no splits were given, so they are random: {sizes}{other}; to choose, --splits FILE or --fold 1/5"


def note_on_text(tasks: "TaskSet") -> str:
    """Note that the text of a file was split into words, and how to split it otherwise; empty if not."""
    is_text = any(isinstance(token, str) for token in tasks.vocabulary.tokens)
    if tasks.text is None or "path" not in tasks.options or "text" in tasks.options or not is_text:
        return ""
    return "inputs are text, split into words at white space; otherwise, --text characters or tokenizer.json"


def _absolute(value: str) -> str:
    """The absolute path if this is a file, so that a run can be repeated from anywhere."""
    return str(Path(value).resolve()) if os.path.isfile(value) else value
