"""`tam eval`, `tam adapt`, `tam predict`: use what was trained."""

import json
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from tam.cli.parsing import path
from tam.errors import UserError

Run = Annotated[Path, path("RUN", "RUN")]
File = Annotated[Path, tyro.conf.Positional, path("FILE", "FILE")]


def _several(metavar: str, hint: str = "") -> Any:
    """How the help shows an argument of several values, whose default is none of them."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=hint)


@dataclass(frozen=True)
class Eval:
    """Score the test tasks of a run at each k; of several runs, show the spread over them."""

    run_folders: Annotated[tuple[Run, ...], tyro.conf.Positional, _several("RUN [RUN ...]", "(required)")]
    """The folder of a finished run, or of several that differ in their seed."""
    shots: Annotated[tuple[int, ...], _several("INT [INT ...]")] = ()
    """The values of k; those of the run if not given."""
    supports: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="")] = None
    """How many support sets are drawn for each task, up to 1000; as in the run if not given."""
    device: Annotated[str | None, tyro.conf.arg(metavar="STR", help_behavior_hint="")] = None
    """cpu, or cuda; where the run was trained if not given."""

    def run(self) -> None:
        """Evaluate and print."""
        from tam.report.curve import score_table
        from tam.training.run import evaluate_run, over_trials

        if not self.run_folders:
            raise UserError("give the folder of a run, or of several")
        results = [
            evaluate_run(folder, self.shots, self.supports, self.device) for folder in self.run_folders
        ]
        print(score_table(over_trials(results, self.run_folders)))


@dataclass(frozen=True)
class Adapt:
    """Learn a task from examples, and write its embedding."""

    run_folder: Annotated[Run, tyro.conf.Positional]
    """The folder of a finished run, or of a saved learner."""
    examples: File
    """JSONL, one example a line: {"x": [tokens], "y": label or [tokens]}."""
    out: Annotated[Path, path("--out", "FILE")]
    """Where the task embedding goes, as JSON; an earlier one is replaced, any other file is not."""
    primitives: Annotated[tuple[str, ...], _several("STR [STR ...]")] = ()
    """For a compositional model: the task's primitives."""

    def run(self) -> None:
        """Adapt and write."""
        from tam.learner.inputs import ExamplesError
        from tam.learner.learner import load
        from tam.tasks.jsonl import read_examples
        from tam.tasks.unknown import PrimitivesError

        self._check_out()
        learner = load(self.run_folder)
        by_line = read_examples(self.examples)
        try:
            rule = learner.adapt(by_line.values(), self.primitives)
        except ExamplesError as error:
            place = "" if error.example is None else f":{list(by_line)[error.example]}"
            raise UserError(f"{self.examples}{place}: {error.problem}") from None
        except PrimitivesError as error:
            raise UserError(f"--primitives: {error.problem}") from None
        rule.save(self.out)
        print(f"learned from {self.examples} with loss {rule.loss:.3f}; written to {self.out}")
        words = map(shlex.quote, (str(self.run_folder), str(self.out), _some_input(learner)))
        print(f"next: tam predict {' '.join(words)}")

    def _check_out(self) -> None:
        """Raise an error if something would be lost: a file that is neither empty nor a task embedding."""
        from tam.learner.task_embedding import TaskEmbedding

        if not os.path.isfile(self.out):
            return
        if os.path.exists(self.examples) and os.path.samefile(self.out, self.examples):
            raise UserError(f"{self.out}: --out is the file of the examples: give another")
        if not os.path.getsize(self.out):
            return
        try:
            TaskEmbedding.load(self.out)
        except UserError:
            raise UserError(
                f"{self.out}: --out is a file that is no task embedding: give another, or remove it first"
            ) from None


@dataclass(frozen=True)
class Predict:
    """Answer inputs with a task embedding."""

    run_folder: Annotated[Run, tyro.conf.Positional]
    """The folder of a finished run, or of a saved learner."""
    rule: File
    """A task embedding that `tam adapt` wrote."""
    inputs: Annotated[tuple[str, ...], tyro.conf.Positional, _several("INPUT [INPUT ...]", "(required)")]
    """Inputs, their tokens separated by spaces, or as a JSON list: '["a b", 1]'."""
    beams: int = 1
    """For sequences: how many beginnings are followed at a time."""

    def run(self) -> None:
        """Predict and print, a line an input."""
        from tam.learner.learner import load
        from tam.learner.task_embedding import EmbeddingError, TaskEmbedding

        learner = load(self.run_folder)
        if not self.inputs:
            raise UserError('give one input or more, such as "2 7 1 8 2"')
        rule = TaskEmbedding.load(self.rule)
        words = _Words(learner.vocabulary_.tokens)
        try:
            answers = learner.predict(rule, [words.read(text) for text in self.inputs], self.beams)
        except EmbeddingError as error:
            raise UserError(f"{self.rule}: {error}") from None
        for text, answer in zip(self.inputs, answers, strict=True):
            shown = words.show(answer) if isinstance(answer, list) else _shown_label(answer, rule.labels)
            print(f"{text}  →  {shown}")


class _Words:
    """Tokens as a person writes them: as words, and as a JSON list where words would mean others."""

    def __init__(self, tokens: Iterable[int | str]) -> None:
        self._tokens = set(tokens)
        self._integers = {str(token): token for token in self._tokens if isinstance(token, int)}

    def read(self, text: str) -> list[Any]:
        """The tokens; a word is an integer where the vocabulary has it as one."""
        from tam.tasks.jsonl_line import FormatError, parse_json

        words = [self._integers.get(word, word) for word in text.split()]
        if not text.lstrip().startswith("[") or self._tokens.issuperset(words):
            return words
        try:
            value = parse_json(text)
        except FormatError:
            return words
        return value if isinstance(value, list) else words

    def show(self, tokens: Sequence[int | str]) -> str:
        """What is read as these tokens."""
        text = " ".join(map(str, tokens))
        is_option = text.startswith("-") and not text[1:2].isdigit()
        return text if self.read(text) == tokens and not is_option else json.dumps(tokens, ensure_ascii=False)


def _shown_label(label: int | str, labels: Iterable[int | str]) -> str:
    """As it is; as JSON where that looks like another label, or like none."""
    if not isinstance(label, str):
        return str(label)
    is_word = label and label == " ".join(label.split())
    others = {str(other) for other in labels if isinstance(other, int)}
    return label if is_word and label not in others else json.dumps(label, ensure_ascii=False)


def _some_input(learner: Any) -> str:
    tokens = learner.vocabulary_.tokens
    places = range(1, 1 + min(5, learner.model_.spec.max_x))
    return _Words(tokens).show([tokens[place % len(tokens)] for place in places])
