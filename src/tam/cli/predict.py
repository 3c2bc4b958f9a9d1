"""`tam predict`: answer inputs from the command line, a file or standard input."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import tyro

from tam.cli.options import File, Run, optional, several
from tam.cli.tasks import Text
from tam.cli.words import Words, note_unknown
from tam.errors import UserError
from tam.io import path_of

if TYPE_CHECKING:
    from tam.tasks.task import Label

_MOST_SHOWN = 5


class _Input(NamedTuple):
    """An input as given, its tokens, and its place, for error messages."""

    text: str
    tokens: list[Any]
    where: str


@dataclass(frozen=True)
class Predict:
    """Answer inputs with a task embedding that `tam adapt` wrote."""

    run_folder: Run
    """Folder of a finished run or a saved learner, or a pretrained model: see tam models."""
    rule: File
    """The task embedding."""
    inputs: Annotated[tuple[str, ...], tyro.conf.Positional, several("INPUT", "")] = ()
    """Inputs: tokens separated by spaces, "2 7 1", or a JSON list, '["a b", 1]', or an object with x.
    Without inputs or --file, they are read from standard input, one per line."""
    file: Annotated[str | None, optional("FILE")] = None
    """Read the inputs from a file, one per line: tokens, a JSON list, or an object with x."""
    json: bool = False
    """Print a JSON object per input, with x and y."""
    proba: bool = False
    """Print the probability of each label, or of the likeliest sequences, one per beam."""
    beams: int = 1
    """For sequences: beam width; 1 is greedy decoding."""
    text: Text = None

    def run(self) -> None:
        """Predict and print one line per input."""
        from tam.learner.inputs import InputError
        from tam.learner.learner import load
        from tam.learner.task_embedding import EmbeddingError, TaskEmbedding

        path_of(self.run_folder, "RUN")
        learner = load(self.run_folder)
        rule = TaskEmbedding.load(path_of(self.rule, "FILE"))
        words = Words(learner.vocabulary_, self.text or learner.text_)
        inputs = list(self._read(words))
        rows = [one.tokens for one in inputs]
        try:
            if self.proba:
                answers: list[Any] = learner.predict_proba(rule, rows, self.beams)
            else:
                answers = learner.predict(rule, rows, self.beams)
        except EmbeddingError as error:
            raise UserError(f"{self.rule}: {error}") from None
        except InputError as error:
            raise UserError(f"{inputs[error.number].where}: {error.problem}") from None
        note_unknown(learner.vocabulary_, rows)
        labels = _labels_in_words(rule.labels)
        for one, answer in zip(inputs, answers, strict=True):
            shown_answer = _in_words(answer, words, labels)
            print(_as_json(one, answer) if self.json else f"{one.text}  →  {shown_answer}")

    def _read(self, words: Words) -> Iterator[_Input]:
        """Read the inputs: arguments, or the lines of a file or of standard input."""
        if self.inputs:
            if self.file is not None:
                raise UserError("give inputs, or --file with them, not both")
            loose = len(self.inputs) > 1 and all(words.is_one_word(text) for text in self.inputs)
            if loose:
                joined = " ".join(self.inputs)
                raise UserError(
                    f'{len(self.inputs)} inputs of one word each: quote them if they are one, "{joined}"; '
                    "if not, give JSON lists, or one per line on standard input"
                )
            for number, text in enumerate(self.inputs):
                where = f"input {number}"
                yield _Input(text, words.read_input(text, where), where)
            return
        if self.file is None and sys.stdin.isatty():
            raise UserError('give one input or more, such as "2 7 1 8 2", or --file, or standard input')
        name = "standard input" if self.file is None else self.file
        text = sys.stdin.read() if self.file is None else _text_of(path_of(self.file, "--file"))
        if not (text := text.removeprefix("\ufeff")):
            raise UserError(f"{name}: there are no inputs")
        for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
            where, line = f"{name}:{number}", line.removesuffix("\r")
            yield _Input(line, words.read_input(line, where), where)


def _text_of(path: Path) -> str:
    from tam.io import unreadable

    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8: byte {error.object[error.start]:#04x}") from None


def _as_json(given: _Input, answer: Any) -> str:
    values: dict[str, Any] = {"x": given.tokens}
    if isinstance(answer, dict):
        ordered = sorted(answer.items(), key=lambda one: -one[1])
        values["y"] = ordered[0][0] if ordered else None
        values["proba"] = [{"y": y, "p": round(p, 6)} for y, p in ordered]
    else:
        values["y"] = answer
    return json.dumps(values, ensure_ascii=False)


def _labels_in_words(labels: "Sequence[Label]") -> "dict[Label, str]":
    """Labels as text; as JSON those that would look alike, such as 1 and "1"."""
    alike = Counter(map(str, labels))
    return {
        label: str(label) if alike[str(label)] == 1 else json.dumps(label, ensure_ascii=False)
        for label in labels
    }


def _in_words(answer: Any, words: Words, labels: "Mapping[Label, str]") -> str:
    if isinstance(answer, Mapping):
        ordered = sorted(answer.items(), key=lambda one: -one[1])[:_MOST_SHOWN]
        return ", ".join(f"{_in_words(y, words, labels)} ({p:.3f})" for y, p in ordered)
    return words.show(list(answer)) if isinstance(answer, list | tuple) else labels[answer]
