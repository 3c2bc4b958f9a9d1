"""`tam eval`, `tam adapt`, `tam predict`: use what was trained."""

import json
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from tam.cli.options import optional
from tam.errors import UserError, shown
from tam.io import path_of

Run = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
File = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]


def _several(metavar: str) -> Any:
    """How the help shows a positional argument of one value or more."""
    return tyro.conf.arg(metavar=f"{metavar} [{metavar} ...]", help_behavior_hint="(required)")


@dataclass(frozen=True)
class Eval:
    """Score a run on its test tasks at each k; for several runs, show mean and spread."""

    run_folders: Annotated[tuple[str, ...], tyro.conf.Positional, _several("RUN")]
    """Folder of a finished run, or of several that differ only in their seed."""
    shots: Annotated[tuple[int, ...], optional("INT [INT ...]")] = ()
    """Values of k; those of the run if not given."""
    supports: Annotated[int | None, optional("INT")] = None
    """Support sets drawn per task; as in the run if not given."""
    device: Annotated[str | None, optional("STR")] = None
    """cpu or cuda; the run's device if not given."""

    def run(self) -> None:
        """Evaluate and print."""
        from tam.report.curve import score_table
        from tam.training.run import evaluate_run, over_trials

        if not self.run_folders:
            raise UserError("give the folder of one run or more")
        folders = [path_of(folder, "RUN") for folder in self.run_folders]
        results = [evaluate_run(folder, self.shots, self.supports, self.device) for folder in folders]
        print(score_table(over_trials(results, folders)))


@dataclass(frozen=True)
class Adapt:
    """Learn a task from examples, and write its task embedding to a file."""

    run_folder: Run
    """Folder of a finished run, or of a saved learner."""
    examples: File
    """JSONL, one example per line: {"x": [tokens], "y": label or [tokens]}."""
    out: Annotated[str, tyro.conf.arg(metavar="FILE")]
    """JSON file for the task embedding; replaces an earlier embedding, but no other file."""
    primitives: Annotated[tuple[str, ...], optional("STR [STR ...]")] = ()
    """For a compositional model: the task's primitives, one of them unknown to the model."""

    def run(self) -> None:
        """Adapt and write."""
        from tam.learner.inputs import ExamplesError
        from tam.learner.learner import load
        from tam.tasks.composition import PrimitivesError
        from tam.tasks.jsonl import read_examples

        folder, examples = path_of(self.run_folder, "RUN"), path_of(self.examples, "FILE")
        out = path_of(self.out, "--out")
        _check_replaceable(out)
        learner = load(folder)
        by_line = read_examples(examples)
        try:
            rule = learner.adapt(by_line.values(), self.primitives)
        except ExamplesError as error:
            place = "" if error.example is None else f":{list(by_line)[error.example]}"
            raise UserError(f"{examples}{place}: {error.problem}") from None
        except PrimitivesError as error:
            raise UserError(f"--primitives: {error.problem}") from None
        rule.save(out)
        print(f"learned from {examples} with loss {rule.loss:.3f}; written to {out}")
        tokens = learner.vocabulary_.tokens
        places = range(1, 1 + min(5, learner.model_.spec.max_x))
        some_input = _Words(tokens).show([tokens[place % len(tokens)] for place in places])
        print(f"next: tam predict {shlex.join((self.run_folder, self.out, some_input))}")


def _check_replaceable(out: Path) -> None:
    """Raise an error if a file would be lost that is neither empty nor a task embedding."""
    from tam.learner.task_embedding import TaskEmbedding

    if not os.path.isfile(out) or not os.path.getsize(out):
        return
    try:
        TaskEmbedding.load(out)
    except UserError:
        raise UserError(
            f"{out}: this file is not a task embedding, so it is not replaced: give another --out"
        ) from None


@dataclass(frozen=True)
class Predict:
    """Answer inputs with a task embedding that `tam adapt` wrote."""

    run_folder: Run
    """Folder of a finished run, or of a saved learner."""
    rule: File
    """The task embedding."""
    inputs: Annotated[tuple[str, ...], tyro.conf.Positional, _several("INPUT")]
    """Inputs: tokens separated by spaces, or a JSON list, '["a b", 1]'."""
    beams: int = 1
    """For sequences: beam width; 1 is greedy decoding."""

    def run(self) -> None:
        """Predict and print one line per input."""
        from tam.learner.learner import load
        from tam.learner.task_embedding import EmbeddingError, TaskEmbedding

        learner = load(path_of(self.run_folder, "RUN"))
        if not self.inputs:
            raise UserError('give one input or more, such as "2 7 1 8 2"')
        rule = TaskEmbedding.load(path_of(self.rule, "FILE"))
        words = _Words(learner.vocabulary_.tokens)
        inputs = [words.read(text) for text in self.inputs]
        try:
            answers = learner.predict(rule, inputs, self.beams)
        except EmbeddingError as error:
            raise UserError(f"{self.rule}: {error}") from None
        if unknown := learner.unknown_tokens(inputs):
            some = ", ".join(shown(token) for token in list(dict.fromkeys(unknown))[:5])
            print(
                f"note: {len(unknown)} of {sum(map(len, inputs))} tokens are unknown to the model: {some}",
                file=sys.stderr,
            )
        for text, answer in zip(self.inputs, answers, strict=True):
            print(f"{text}  →  {words.show(answer) if isinstance(answer, list) else answer}")


class _Words:
    """Tokens as a person writes them: as words, and as a JSON list where words would mean others."""

    def __init__(self, tokens: Iterable[int | str]) -> None:
        self._tokens = set(tokens)
        self._integers = {str(token): token for token in self._tokens if isinstance(token, int)}

    def read(self, text: str) -> list[Any]:
        """The tokens; a word is an integer where the vocabulary has it as one."""
        from tam.tasks.jsonl_schema import FormatError, parse_json

        words = [self._integers.get(word, word) for word in text.split()]
        if not text.lstrip().startswith("[") or self._tokens.issuperset(words):
            return words
        try:
            value = parse_json(text)
        except FormatError:
            return words
        return value if isinstance(value, list) else words

    def show(self, tokens: Sequence[int | str]) -> str:
        """A text that is read as these tokens."""
        text = " ".join(map(str, tokens))
        is_option = text.startswith("-") and not text[1:2].isdigit()
        return text if self.read(text) == tokens and not is_option else json.dumps(tokens, ensure_ascii=False)
