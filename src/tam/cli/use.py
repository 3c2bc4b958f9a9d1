"""`tam eval`, `tam adapt`: score what was trained, and learn a task with it."""

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from tam.cli.options import File, Run, optional, several
from tam.cli.tasks import READING, AnswerKind, ColumnNames, FoldOption, Splits, Text
from tam.cli.words import Words, note_unknown
from tam.errors import UserError
from tam.io import path_of

if TYPE_CHECKING:
    from tam.learner.evaluating import Opened, TestTasks
    from tam.learner.inputs import ExamplesError
    from tam.learner.learner import Learner
    from tam.learner.task_embedding import TaskEmbedding


@dataclass(frozen=True)
class ScoredRuns:
    """Runs, and the test tasks to score them on."""

    run_folders: Annotated[tuple[str, ...], tyro.conf.Positional, several("RUN")]
    """Folders of finished runs."""
    shots: Annotated[tuple[int, ...], optional("INT [INT ...]")] = ()
    """Values of k; by default those of each run."""
    device: str = "auto"
    """auto (cuda if there is a GPU, else cpu), cpu, cuda, or one of several GPUs, such as cuda:1."""
    tasks: Annotated[str | None, optional("FILE")] = None
    """Score these tasks instead: the test tasks of a file, or all of them if it has no splits."""
    splits: Splits = None
    fold: FoldOption = None
    text: Text = None
    kind: AnswerKind = None
    columns: ColumnNames = None

    @property
    def folders(self) -> list[Path]:
        """The folders of the runs."""
        if not self.run_folders:
            raise UserError("give the folder of at least one run")
        return [path_of(folder, "RUN") for folder in self.run_folders]

    def open(self, folder: Path, supports: int | None = None) -> "Opened":
        """Open a run with its own test tasks or those of `--tasks`; note what it does not know of those."""
        from tam.learner.evaluating import open_run

        run = open_run(folder, self.shots, supports, self.device, self._other_tasks(folder))
        if self.tasks is not None:
            examples = (example for members in run.tasks.values() for task in members for example in task)
            note_unknown(run.saved.vocabulary, _sequences(examples), f" of {self.tasks}", str(folder))
        return run

    def _other_tasks(self, folder: Path) -> "TestTasks | None":
        """Read the tasks of `--tasks`, by default in the same way as the run's; None without it."""
        from tam.tasks.jsonl import read_test_tasks
        from tam.training.run import read_config

        if self.tasks is None:
            return None
        _, source = read_config(folder / "config.json")
        reading = {name: source[name] for name in ("text", "kind", "columns") if name in source}
        reading |= {name: value for name in READING if (value := getattr(self, name)) is not None}
        return read_test_tasks(path_of(self.tasks, "--tasks"), **reading)


@dataclass(frozen=True)
class Eval(ScoredRuns):
    """Score a run on its test tasks at each k; for several runs, show mean and spread."""

    run_folders: Annotated[tuple[str, ...], tyro.conf.Positional, several("RUN")]
    """Folder of a finished run, or of several that differ only in their seed."""
    supports: Annotated[int | None, optional("INT")] = None
    """Number of supports per task; by default as in the run."""

    def run(self) -> None:
        """Evaluate and print."""
        from tam.learner.evaluating import evaluate_run, over_trials
        from tam.report.curve import score_table

        folders = self.folders
        results = [evaluate_run(self.open(folder, self.supports)) for folder in folders]
        print(score_table(over_trials(results, folders)))


@dataclass(frozen=True)
class Adapt:
    """Learn a task from examples, and write its task embedding to a file."""

    run_folder: Run
    """Folder of a finished run or a saved learner, or a pretrained model: see tam models."""
    examples: File
    """JSONL, one example per line: {"x": [tokens] or text, "y": label or [tokens]}."""
    out: Annotated[str, tyro.conf.arg(metavar="FILE")]
    """JSON file for the task embedding; replaces an earlier embedding, but no other file."""
    primitives: Annotated[tuple[str, ...], optional("STR [STR ...]")] = ()
    """For a compositional model: the task's primitives, one of them unknown to the model."""
    text: Text = None

    def run(self) -> None:
        """Adapt and write."""
        from tam.learner.learner import load
        from tam.tasks.text import tokenizer_named

        path_of(self.run_folder, "RUN")
        examples = path_of(self.examples, "FILE")
        out = path_of(self.out, "--out")
        check_replaceable(out)
        learner = load(self.run_folder)
        text = self.text or learner.text_
        rule, (first, *_) = adapt_from_file(learner, examples, self.primitives, text)
        rule.save(out)
        print(f"learned from {examples} with loss {rule.loss:.3f}; written to {out}")
        is_pieces = learner.model_.spec.encoder is not None or tokenizer_named(text) is not None
        some_input = "some text" if is_pieces else Words(learner.vocabulary_, text).show(first[0])
        split = () if self.text is None else ("--text", self.text)
        print(f"next: tam predict {shlex.join((self.run_folder, self.out, some_input, *split))}")


def adapt_from_file(
    learner: "Learner", file: Path, primitives: Sequence[str], text: str | None
) -> "tuple[TaskEmbedding, list[tuple[Any, Any]]]":
    """Adapt a learner to the examples in a file; return the task embedding and the examples.

    Errors name the line, and a note tells how many tokens are unknown. `text` is how to split text.
    """
    from tam.learner.inputs import ExamplesError
    from tam.tasks.composition import PrimitivesError
    from tam.tasks.jsonl import read_examples

    by_line = read_examples(file)
    examples = split_text(by_line.values(), text, learner)
    try:
        rule = learner.adapt(examples, primitives)
    except ExamplesError as error:
        raise error_in(file, list(by_line), error) from None
    except PrimitivesError as error:
        raise UserError(f"--primitives: {error.problem}") from None
    note_unknown(learner.vocabulary_, _sequences(examples), f" of {file}")
    return rule, examples


def _sequences(examples: Iterable[tuple[Any, Any]]) -> Iterator[list[Any]]:
    """The inputs, and the answers that are sequences."""
    return (part for example in examples for part in example if isinstance(part, list))


def error_in(file: Path, lines: Sequence[int], error: "ExamplesError") -> UserError:
    """Turn an error in an example into one that names its line in the file."""
    place = "" if error.example is None else f":{lines[error.example]}"
    return UserError(f"{file}{place}: {error.problem}")


def split_text(
    examples: Iterable[tuple[Any, Any]], text: str | None, learner: "Learner"
) -> list[tuple[Any, Any]]:
    """Split the text of examples into tokens; `text` is how, by default into words."""
    words, in_answers = Words(learner.vocabulary_, text), learner.model_.spec.kind == "transduction"
    return [
        (
            words.read(x) if isinstance(x, str) else x,
            words.read(y) if in_answers and isinstance(y, str) else y,
        )
        for x, y in examples
    ]


def check_replaceable(out: Path) -> None:
    """Raise an error if a file exists that is neither empty nor a task embedding."""
    from tam.learner.task_embedding import TaskEmbedding

    if not os.path.isfile(out) or not os.path.getsize(out):
        return
    try:
        TaskEmbedding.load(out)
    except UserError:
        raise UserError(
            f"{out}: this file is not a task embedding, so it is not replaced: give another --out"
        ) from None
