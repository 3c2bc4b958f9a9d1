"""A stored task as a row of the database."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from tam.io import finite, infinite_if_none, json_text
from tam.learner.task_embedding import TaskEmbedding
from tam.store.stored import StoredTask
from tam.tasks.task import Example

EMBEDDING = "weights, vector, labels, primitives, loss, is_support, searches"
"""The columns of an embedding."""
USED = f"{EMBEDDING}, examples"
"""The columns needed to answer with an embedding."""
TASK = f"name, examples, notes, created, {EMBEDDING}"
"""The columns of a task."""

_WITH_EXAMPLES = 2  # in the column is_support: predictions also read the examples


def embedding_row(embedding: TaskEmbedding) -> tuple[Any, ...]:
    """Values for the columns `EMBEDDING`."""
    return (
        embedding.model,
        embedding.vector.astype("<f4").tobytes(),
        json_text(embedding.labels),
        json_text(embedding.primitives),
        finite(embedding.loss),
        _WITH_EXAMPLES if embedding.examples else int(embedding.is_support),
        embedding.searches,
    )


def embedding_of(row: Sequence[Any]) -> TaskEmbedding:
    """Build an embedding from the columns `USED`, or `EMBEDDING`: then without examples it may need."""
    weights, vector, labels, primitives, loss, is_support, searches, *examples = row
    return TaskEmbedding(
        np.frombuffer(vector, "<f4").astype(np.float32, copy=False),
        tuple(json.loads(labels)),
        weights,
        infinite_if_none(loss),
        primitives_of(primitives),
        is_support == 1,
        searches,
        tuple(examples_of(*examples)) if examples and is_support == _WITH_EXAMPLES else (),
    )


def task_row(task: StoredTask) -> tuple[Any, ...]:
    """Values for the columns `TASK`."""
    examples = task.embedding.examples or task.examples
    return task.name, json_text(examples), task.notes, task.created, *embedding_row(task.embedding)


def stored_task(row: Sequence[Any]) -> StoredTask:
    """Build a task from the columns `TASK`."""
    name, examples, notes, created, *embedding = row
    return StoredTask(name, embedding_of([*embedding, examples]), examples_of(examples), notes, created)


def examples_of(text: str) -> list[Example]:
    """Parse the column `examples`."""
    return [Example(x, y) for x, y in json.loads(text)]


def primitives_of(text: str) -> tuple[str, ...]:
    """Parse the column `primitives`."""
    return tuple(json.loads(text))
