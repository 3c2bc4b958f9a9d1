"""A prior: more tasks to train on. Validation and test tasks remain the user's own."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tam.config.generated import RANGES, GenerateOptions
from tam.errors import UserError, shown
from tam.tasks.task import Integers, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary, sort_key

_FEWEST_EXAMPLES = 16
_MOST_VALUES = 1_000


def with_prior(tasks: TaskSet, prior: TaskSet) -> TaskSet:
    """Add all tasks of a prior to the training tasks of a set; validation and test tasks stay the same.

    Tasks of the prior whose names the set already has are left out. The vocabularies are merged.
    """
    if prior.kind != tasks.kind:
        raise UserError(
            f"a prior must be of the same kind as the tasks: it is {prior.kind}, not {tasks.kind}"
        )
    if bool(tasks.primitives) != bool(prior.primitives):
        raise UserError("the tasks and those of their prior must all have primitives, or none")
    tokens = {*tasks.vocabulary.tokens, *prior.vocabulary.tokens}
    vocabulary = Vocabulary(sorted(tokens, key=sort_key))
    taken = {task.name for task in tasks}
    splits = {split: _recoded(members, vocabulary) for split, members in tasks.splits.items()}
    splits["train"] += _recoded(tuple(task for task in prior if task.name not in taken), vocabulary)
    return TaskSet(splits, vocabulary, {**tasks.options, "prior": dict(prior.options)}, text=tasks.text)


def fitting_options(tasks: TaskSet, given: Mapping[str, Any]) -> GenerateOptions:
    """Options to generate similar tasks; those not given follow from the tokens and the training tasks."""
    needs = "a prior of lists needs answers that are sequences, and tokens that are integers from 0 on"
    if tasks.kind != "transduction":
        raise UserError(f"{needs}: got {tasks.kind}")
    tokens = tasks.vocabulary.tokens
    if others := [token for token in tokens if isinstance(token, str) or token < 0]:
        raise UserError(f"{needs}: got the token {shown(others[0])}")
    x, y = (
        np.concatenate([getattr(task, side).lengths for task in tasks.train]).astype(int) for side in "xy"
    )
    fitting = {
        "examples": max(_FEWEST_EXAMPLES, int(np.median([len(task) for task in tasks.train]))),
        "values": min(_MOST_VALUES, 1 + max((1, *map(int, tokens)))),
        "shortest": int(x.min()),
        "longest": max(1, int(x.max())),
        "longest_answer": max(1, int(y.max())),
    }
    possible = {name: min(value, RANGES[name][1]) for name, value in fitting.items()}
    return GenerateOptions.of({**possible, **given})


def _recoded(tasks: tuple[Task, ...], vocabulary: Vocabulary) -> tuple[Task, ...]:
    """The same tasks with the ids of another vocabulary, which has all their tokens."""
    return tuple(
        replace(
            task,
            vocabulary=vocabulary,
            x=_sequences(task.x, ids, len(vocabulary)),
            y=_sequences(task.y, ids, len(vocabulary)) if isinstance(task.y, Sequences) else task.y,
        )
        for task in tasks
        for ids in [vocabulary.ids_of(task.vocabulary)]
    )


def _sequences(old: Sequences, ids: Integers, size: int) -> Sequences:
    return Sequences.from_flat(ids[old.flat], old.lengths, size)
