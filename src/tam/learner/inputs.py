"""What users give, in their own tokens and labels, as tasks of a model, or an error that says why not."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tam.errors import UserError, shown
from tam.models import ModelSpec
from tam.tasks.composition import PrimitivesError, unknown_slot
from tam.tasks.task import Classes, Integers, Label, Sequences, Task, compact
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary, plain, sort_key


class ExamplesError(UserError):
    """A mistake in the examples of a task.

    Attributes:
        problem: What is wrong, without the task and the number of the example.
        example: The number of the example that is wrong; None if it is not a single one.
    """

    def __init__(self, task: str, problem: str, example: int | None = None, part: str = "") -> None:
        place = task if example is None else f"{task}, example {example}"
        super().__init__(f"{place}, {part}: {problem}" if part else f"{place}: {problem}")
        self.problem = f"{part}: {problem}" if part else problem
        self.example = example


def listed(value: Any) -> list[Any] | None:
    """The items of a list, an array or anything else that has an order; None if it has none."""
    if isinstance(value, str | bytes | Mapping | set | frozenset):
        return None
    try:
        return list(value)
    except TypeError:
        return None


@dataclass(frozen=True)
class Intake:
    """What a model takes: a kind of task, tokens, lengths, and perhaps primitives."""

    spec: ModelSpec
    vocabulary: Vocabulary
    primitives: Mapping[str, int] | None

    def task(self, name: str, examples: Iterable[Any], primitives: Iterable[str]) -> Task:
        """The task that these examples are of."""
        pairs = listed(examples)
        if pairs is None:
            raise ExamplesError(name, f"expected pairs of an input and its answer, not {shown(examples)}")
        if not pairs:
            raise ExamplesError(name, "a task is learned from one example or more, not from none")
        inputs: list[list[int]] = []
        answers: list[Any] = []
        for number, pair in enumerate(pairs):
            with _in_example(name, number):
                if not isinstance(pair, tuple | list) or len(pair) != 2:
                    raise UserError(f"expected a pair of an input and its answer, not {shown(pair)}")
            with _in_example(name, number, "x"):
                inputs.append(self._ids(pair[0], self.spec.max_x))
            with _in_example(name, number, "y"):
                answers.append(self._answer(pair[1]))
        y = self._sequences(answers) if self.spec.kind == "transduction" else self._classes(name, answers)
        return Task(name, self.vocabulary, self._sequences(inputs), y, self.task_primitives(name, primitives))

    def inputs(self, rows: Iterable[Any]) -> Sequences:
        """Inputs to answer."""
        given, found = listed(rows), list[list[int]]()
        if given is None:
            raise UserError(f"inputs are a list with a list of tokens for each, not {shown(rows)}")
        for number, row in enumerate(given):
            try:
                found.append(self._ids(row, self.spec.max_x))
            except UserError as error:
                raise UserError(f"input {number}: {error}") from None
        return self._sequences(found)

    def tasks(self, given: Iterable[Task]) -> list[Task]:
        """Tasks of a task set, in the model's ids: their tokens may have others."""
        if isinstance(given, TaskSet):
            raise UserError(f"expected the tasks of one split, such as tasks.test, not all of a {given!r}")
        tasks = None if isinstance(given, Task) else listed(given)
        if not tasks or not all(isinstance(task, Task) for task in tasks):
            raise UserError(f"expected a list of one task or more, such as tasks.test, not {shown(given)}")
        ids = {vocabulary: self.vocabulary.ids_of(vocabulary) for vocabulary in {t.vocabulary for t in tasks}}
        return [self._own(task, ids[task.vocabulary]) for task in tasks]

    def task_primitives(self, name: str, given: Iterable[str]) -> tuple[str, ...]:
        """The primitives of a task, of which one is unknown to the model; none in one that uses none."""
        names = listed(given)
        if names is None or not all(isinstance(primitive, str) for primitive in names):
            raise PrimitivesError(name, f"primitives are a list of strings, not {shown(given)}")
        if bool(names) != (self.primitives is not None):
            need = "needs the task's primitives" if self.primitives is not None else "takes no primitives"
            raise PrimitivesError(name, f"the model {need}; given: {names}")
        if self.primitives is None:
            return ()
        if self.spec.slots and len(names) != self.spec.slots:
            raise PrimitivesError(
                name, f"a task has {self.spec.slots} primitives in this model, not {len(names)}: {names}"
            )
        unknown_slot(name, names, self.primitives)
        return tuple(names)

    def _ids(self, row: Any, longest: int) -> list[int]:
        """A sequence of tokens as ids."""
        tokens = listed(row)
        if tokens is None:
            raise UserError(f"expected a list of tokens, not {shown(row)}")
        if len(tokens) > longest:
            raise UserError(f"{len(tokens)} tokens; the model takes up to {longest}")
        if not set(map(type, tokens)) <= {int, str}:
            tokens = [_int_or_str(token, "token") for token in tokens]
        return self.vocabulary.encode(tokens)

    def _answer(self, given: Any) -> Label | list[int]:
        if self.spec.kind == "transduction":
            return self._ids(given, self.spec.max_y)
        return _int_or_str(given, "label")

    def _sequences(self, rows: Sequence[list[int]]) -> Sequences:
        return Sequences.from_lists(rows, len(self.vocabulary))

    def _classes(self, name: str, answers: Sequence[Label]) -> Classes:
        labels = tuple(sorted(set(answers), key=sort_key))
        self._check_labels(name, labels)
        class_of = {label: number for number, label in enumerate(labels)}
        return Classes(compact(np.array([class_of[label] for label in answers]), len(labels)), labels)

    def _check_labels(self, name: str, labels: Sequence[Label]) -> None:
        if len(labels) > (most := self.spec.classes):
            raise ExamplesError(name, f"{len(labels)} different labels, but the model knows {most}")

    def _own(self, task: Task, ids: Integers) -> Task:
        name = f"task {task.name!r}"
        if task.kind != self.spec.kind:
            raise UserError(f"{name} is of kind {task.kind}, and the model is for {self.spec.kind}")
        x = self._recode(name, "x", task.x, self.spec.max_x, task.vocabulary, ids)
        y = task.y
        if isinstance(y, Sequences):
            y = self._recode(name, "y", y, self.spec.max_y, task.vocabulary, ids)
        else:
            self._check_labels(name, y.labels)
        named = () if self.primitives is None else self.task_primitives(name, task.primitives)
        return Task(task.name, self.vocabulary, x, y, named)

    def _recode(
        self, name: str, part: str, rows: Sequences, longest: int, vocabulary: Vocabulary, ids: Integers
    ) -> Sequences:
        if (most := int(rows.lengths.max(initial=0))) > longest:
            problem = f"{most} tokens; the model takes up to {longest}"
            raise ExamplesError(name, problem, int(rows.lengths.argmax()), part)
        flat = ids[rows.flat]
        if (flat < 0).any():
            first = int((flat < 0).argmax())
            example = int(np.repeat(np.arange(len(rows)), rows.lengths)[first])
            with _in_example(name, example, part):
                self.vocabulary.encode(vocabulary.decode(rows.row(example)))
        return Sequences.from_flat(flat, rows.lengths, len(self.vocabulary))


@contextmanager
def _in_example(task: str, number: int, part: str = "") -> Generator[None]:
    try:
        yield
    except UserError as error:
        raise ExamplesError(task, str(error), number, part) from None


def _int_or_str(value: Any, what: str) -> int | str:
    if (found := plain(value)) is None:
        raise UserError(f"expected a {what}, an integer or a string, not {shown(value)}")
    return found
