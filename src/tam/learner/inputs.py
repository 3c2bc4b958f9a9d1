"""Check what users give, in their own tokens and labels, and convert it to a model's ids."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tam.errors import UserError, shown
from tam.models import ModelSpec
from tam.models.token_ids import TokenIds
from tam.tasks.composition import PrimitivesError, unknown_slot
from tam.tasks.task import Classes, Example, Integers, Label, Sequences, Task, compact
from tam.tasks.taskset import TaskSet
from tam.tasks.text import TextSplitter, text_splitter
from tam.tasks.vocabulary import Token, Vocabulary, listed, plain_label, plain_token, sort_key

X = TypeVar("X")
Y = TypeVar("Y")


class ExamplesError(UserError):
    """A mistake in the examples of a task.

    Attributes:
        problem: What is wrong, without the task and the number of the example.
        example: The number of the wrong example; None if it is not a single one.
    """

    def __init__(self, task: str, problem: str, example: int | None = None) -> None:
        place = task if example is None else f"{task}, example {example}"
        super().__init__(f"{place}: {problem}")
        self.problem, self.example = problem, example


class InputError(UserError):
    """A mistake in one of several inputs.

    Attributes:
        number: The index of the input.
        problem: What is wrong, without the place.
    """

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(f"input {number}: {problem}")
        self.number, self.problem = number, problem


class Checked(NamedTuple):
    """Inputs that a model can answer: as the user's tokens, and as the model's ids."""

    tokens: list[list[Token]]
    ids: Sequences

    @classmethod
    def joined(cls, parts: "Sequence[Checked]") -> "Checked":
        """Concatenate several, in order."""
        flat = np.concatenate([part.ids.flat for part in parts])
        lengths = np.concatenate([part.ids.lengths for part in parts])
        size = int(flat.max(initial=0)) + 1
        return cls([row for part in parts for row in part.tokens], Sequences.from_flat(flat, lengths, size))


@dataclass(frozen=True)
class Intake:
    """Checks that a model can read examples and inputs, and converts them to its ids."""

    spec: ModelSpec
    vocabulary: Vocabulary
    primitives: Mapping[str, int] | None
    text: str | None = None
    """How text is split, as in `text_splitter`; None: into words."""

    @property
    def ids(self) -> TokenIds:
        """The model's ids of its tokens."""
        return TokenIds(self.spec, self.vocabulary)

    def task(self, name: str, examples: Iterable[Any], primitives: Iterable[str]) -> Task:
        """Make a task from its examples."""
        inputs: list[list[int]] = []
        answers: list[Any] = []
        for number, example in enumerate(self.plain(name, examples)):
            try:
                x, y = self._pair(example)
            except UserError as error:
                raise ExamplesError(name, str(error), number) from None
            inputs.append(x)
            answers.append(y)
        y = self._sequences(answers) if self.spec.kind == "transduction" else self._classes(name, answers)
        return Task(name, self.vocabulary, self._sequences(inputs), y, self.task_primitives(name, primitives))

    def plain(self, name: str, examples: Iterable[Any]) -> list[Example]:
        """Convert the examples of a task to plain values, and text to tokens."""
        return [Example(x, y) for x, y in plain_pairs(name, examples, self._tokens, self._answer)]

    def _tokens(self, row: Any) -> list[Token]:
        return self._split(row) if isinstance(row, str) else plain_tokens(row)

    def _answer(self, value: Any) -> Label | list[Token]:
        return self._tokens(value) if self.spec.kind == "transduction" else plain_answer(value)

    @cached_property
    def _split(self) -> TextSplitter:
        """Splits text as in training, and only text with several words if the model was trained on tokens."""
        split = text_splitter(self.text or "words")

        def tokens_of(text: str) -> list[Token]:
            tokens = split(text)
            if self.text is None and len(tokens) < 2:
                raise UserError(f"expected a list of tokens, or several words, not {shown(text)}")
            return tokens if self.text not in (None, "words") else self.vocabulary.of_words(tokens)

        return tokens_of

    def inputs(self, rows: "Iterable[Any] | Checked") -> "Checked":
        """Check and convert inputs; those already `Checked` are returned unchanged."""
        if isinstance(rows, Checked):
            return rows
        tokens, id_rows, ids = list[list[Token]](), list[list[int]](), self.ids
        for number, row in enumerate(listed_inputs(rows)):
            try:
                tokens.append(self._tokens(row))
                self._check_length(tokens[-1], self.spec.longest_x)
                id_rows.append(ids.pair(tokens[-1])[0])
            except UserError as error:
                raise InputError(number, str(error)) from None
        return Checked(tokens, self._sequences(id_rows))

    def tasks(self, given: Iterable[Task]) -> list[Task]:
        """Convert tasks of a task set from the ids of its vocabulary to the model's."""
        if isinstance(given, TaskSet):
            raise UserError(f"expected the tasks of one split, such as tasks.test, not all of a {given!r}")
        tasks = None if isinstance(given, Task) else listed(given)
        if not tasks or not all(isinstance(task, Task) for task in tasks):
            raise UserError(f"expected a list of one task or more, such as tasks.test, not {shown(given)}")
        ids = {vocabulary: self.vocabulary.ids_of(vocabulary) for vocabulary in {t.vocabulary for t in tasks}}
        return [self._own(task, ids[task.vocabulary]) for task in tasks]

    def task_primitives(self, name: str, given: Iterable[str]) -> tuple[str, ...]:
        """Check a task's primitives: one must be unknown to the model; none if the model takes none."""
        names = listed(given)
        if names is None or not all(isinstance(primitive, str) for primitive in names):
            raise PrimitivesError(name, f"primitives must be a list of strings: got {shown(given)}")
        if self.primitives is None:
            if names:
                raise PrimitivesError(name, f"the model takes no primitives: got {names}")
            return ()
        if not names or (self.spec.slots and len(names) != self.spec.slots):
            raise PrimitivesError(name, f"a task must have {self.spec.slots} primitives: got {names}")
        unknown_slot(name, names, self.primitives)
        return tuple(names)

    def _pair(self, example: Example) -> tuple[list[int], Label | list[int]]:
        """Convert an input to ids, and its answer to a label or ids."""
        x, y = example
        with _prefixed("x"):
            self._check_length(x, self.spec.longest_x)
            ids, _ = self.ids.pair(x)
        with _prefixed("y"):
            if self.spec.kind == "classification":
                if isinstance(y, list):
                    raise UserError(f"expected a label, an integer or a string, not {shown(y)}")
                return ids, y
            if not isinstance(y, list):
                raise UserError(f"expected a list of tokens, not {shown(y)}")
            self._check_length(y, self.spec.longest_y)
            return self.ids.pair(x, y)

    def _check_length(self, tokens: Sequence[Token], longest: int) -> None:
        if len(tokens) > longest:
            extends = self.spec.positions == "rotary" or self.spec.encoder is not None
            hint = "" if extends else "; one that is trained with --positions rotary takes longer ones"
            raise UserError(f"{len(tokens)} tokens; the model takes up to {longest}{hint}")

    def _sequences(self, rows: Sequence[list[int]]) -> Sequences:
        largest = max((max(row, default=0) for row in rows), default=0)
        return Sequences.from_lists(rows, max(largest + 1, self.ids.size))

    def _classes(self, name: str, answers: Sequence[Label]) -> Classes:
        labels = tuple(sorted(set(answers), key=sort_key))
        if len(labels) > self.spec.classes:
            problem = f"{len(labels)} different labels, but the model knows {self.spec.classes}"
            raise ExamplesError(name, problem)
        class_of = {label: number for number, label in enumerate(labels)}
        return Classes(compact(np.array([class_of[label] for label in answers]), len(labels)), labels)

    def _own(self, task: Task, ids: Integers) -> Task:
        """Convert a task to the model's ids; `ids` maps each token id of the task to the model's."""
        name, primitives = f"task {task.name!r}", () if self.primitives is None else task.primitives
        if task.kind != self.spec.kind:
            raise UserError(f"{name} is of kind {task.kind}, and the model is for {self.spec.kind}")
        if self.spec.unknown_tokens and (ids < 0).any():
            return replace(self.task(name, task, primitives), name=task.name, support=task.support)
        x = self._recoded(task.x, ids, self.spec.longest_x)
        y = task.y if isinstance(task.y, Classes) else self._recoded(task.y, ids, self.spec.longest_y)
        if x is None or y is None or (isinstance(y, Classes) and len(y.labels) > self.spec.classes):
            return self.task(name, task, primitives)  # raises an error that says what does not fit
        return Task(task.name, self.vocabulary, x, y, self.task_primitives(name, primitives), task.support)

    def _recoded(self, rows: Sequences, ids: Integers, longest: int) -> Sequences | None:
        """Convert sequences to the model's ids; None if one is too long or has an unknown token."""
        flat = ids[rows.flat]
        if rows.lengths.max(initial=0) > longest or (flat < 0).any():
            return None
        return Sequences.from_flat(flat, rows.lengths, len(self.vocabulary))


def listed_inputs(rows: Any) -> list[Any]:
    """A list of inputs, each tokens or text."""
    if (items := listed(rows)) is None:
        raise UserError(f"inputs must be a list, with a list of tokens or text for each: got {shown(rows)}")
    return items


def plain_examples(name: str, examples: Iterable[Any]) -> list[Example]:
    """Convert the examples of a task to plain values, whether or not a model knows their tokens."""
    return [Example(x, y) for x, y in plain_pairs(name, examples, plain_tokens, plain_answer)]


def plain_pairs(
    name: str, examples: Iterable[Any], x_of: Callable[[Any], X], y_of: Callable[[Any], Y]
) -> list[tuple[X, Y]]:
    """Convert the inputs and answers of a task's examples; errors name the task and the example."""
    pairs = listed(examples)
    if not pairs:
        raise ExamplesError(name, f"expected pairs of an input and its answer, not {shown(examples)}")
    found: list[tuple[X, Y]] = []
    for number, pair in enumerate(pairs):
        try:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise UserError(f"expected a pair of an input and its answer, not {shown(pair)}")
            with _prefixed("x"):
                x = x_of(pair[0])
            with _prefixed("y"):
                y = y_of(pair[1])
        except UserError as error:
            raise ExamplesError(name, str(error), number) from None
        found.append((x, y))
    return found


def plain_answer(value: Any) -> Label | list[Token]:
    """Convert a label or a list of tokens to plain values."""
    if listed(value) is not None:
        return plain_tokens(value)
    if (label := plain_label(value)) is None:
        raise UserError(f"expected a label or a list of tokens, not {shown(value)}")
    return label


def plain_tokens(row: Any) -> list[Token]:
    """Convert any sequence of tokens to a list of plain values."""
    tokens = listed(row)
    if tokens is None:
        raise UserError(f"expected a list of tokens, not {shown(row)}")
    if set(map(type, tokens)) <= {int, str}:
        return tokens
    plain: list[Token] = []
    for token in tokens:
        if (converted := plain_token(token)) is None:
            raise UserError(f"expected a token, an integer or a string, not {shown(token)}")
        plain.append(converted)
    return plain


@contextmanager
def _prefixed(place: str) -> Generator[None]:
    """Prefix an error with its place."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{place}: {error}") from None
