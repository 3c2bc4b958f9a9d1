"""A store of learned tasks: named task embeddings of one model, in one SQLite file."""

import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tam.errors import UserError, shown
from tam.io import infinite_if_none, path_of
from tam.learner.learner import Examples, Learner
from tam.learner.task_embedding import EmbeddingError, TaskEmbedding
from tam.provenance import now
from tam.store.database import Database, fact, set_fact
from tam.store.exchange import export, read_exported
from tam.store.index import Index, principal_components
from tam.store.readapting import readapt
from tam.store.rows import EMBEDDING, TASK, USED, embedding_of, stored_task, task_row
from tam.store.stored import Listed, StoredTask, checked_name, checked_notes, encodable_examples
from tam.tasks.benchmark import Progress

_MOST_CACHED = 10_000


class UnknownTaskError(UserError):
    """A task that is not in the store."""


class TaskExistsError(UserError):
    """A name that is already taken in the store."""


class OtherModelError(UserError):
    """A store, task or embedding that belongs to another model."""


class Neighbour(NamedTuple):
    """A task similar to another."""

    name: str
    similarity: float  # the cosine of the angle between the embeddings


class TaskMap(NamedTuple):
    """Tasks in a plane: the first two principal components of their embeddings.

    Attributes:
        weights: The identity of the weights that learned them.
        names: The tasks.
        points: Their coordinates, `[n, 2]`.
        shares: The share of the variance along each axis.
    """

    weights: str
    names: list[str]
    points: NDArray[np.float64]
    shares: tuple[float, float]


def identities_of(learner: Learner) -> list[str]:
    """List the identities of all weights of a learner: a model may have different ones for different k."""
    return sorted({learner.identity_, *learner.identities_.values()})


class Store:
    """Named task embeddings of one model, with the examples they came from, in an SQLite file.

    Changes are on disk when a method returns. Several processes may share the file, except on network file
    systems, where SQLite does not support it.

    Args:
        path: The file, created if missing; `:memory:` keeps the store in memory.
        learner: The model that the tasks belong to. A new store is bound to it; opening a store of another
            model is an error. Without a learner, the first task stored decides the model.

    Examples:
        ```python
        store = tam.Store("tasks.db", learner)
        store.put("vowels", learner.adapt(examples), examples, notes="from the survey")
        learner.predict(store.get("vowels").embedding, [["a", "r", "e"]])
        store.nearest("vowels", 5)
        ```
    """

    def __init__(self, path: str | Path, learner: Learner | None = None) -> None:
        self.path = path_of(path)
        self._index, self._cache = Index(), dict[str, TaskEmbedding]()
        self._database = Database(self.path, changed=self._cache.clear)
        try:
            self._intake = None if learner is None else learner.intake
            if learner is not None:
                self._bind(learner)
        except BaseException:
            self.close()
            raise

    def _bind(self, learner: Learner) -> None:
        own = identities_of(learner)
        if self.weights == own:
            return
        with self._database.writing() as connection:
            bound = fact(connection, "weights")
            if bound is not None and not set(bound) <= set(own):
                raise OtherModelError(
                    f"{self.path}: its tasks belong to another model ({', '.join(bound)}), not to this one "
                    f"({', '.join(own)}); tam store readapt learns them again from their examples"
                )
            set_fact(connection, "weights", own)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store of {len(self)} tasks in {self.path}"

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return connection.execute("SELECT count(*) FROM tasks").fetchone()[0]

    def __contains__(self, name: str) -> bool:
        with self._database.reading() as connection:
            return connection.execute("SELECT 1 FROM tasks WHERE name = ?", (name,)).fetchone() is not None

    @property
    def weights(self) -> list[str]:
        """The identities of the weights that its tasks may use; empty in a new store."""
        with self._database.reading() as connection:
            return fact(connection, "weights") or []

    def counts(self) -> dict[str, int]:
        """Count the tasks of each set of weights; only tasks of the same weights can be compared."""
        with self._database.reading() as connection:
            return dict(connection.execute("SELECT weights, count(*) FROM tasks GROUP BY weights"))

    def put(
        self,
        name: str,
        embedding: TaskEmbedding,
        examples: Examples,
        notes: str = "",
        *,
        replace: bool = False,
    ) -> StoredTask:
        """Store a task under a name.

        Args:
            name: Its name.
            embedding: Its embedding, from a learner of this store's model.
            examples: The examples it was learned from; another model can learn the task again from them.
                Text needs a store that was opened with a learner, which splits it.
            notes: Anything you want to remember about it.
            replace: Whether to replace a task of this name; otherwise a taken name is an error.
        """
        if self._intake is not None:
            examples = self._intake.plain(f"task {name!r}", examples)
        task = StoredTask(
            checked_name(name), embedding, encodable_examples(name, examples), checked_notes(notes), now()
        )
        self.put_many([task], replace=replace)
        return task

    def put_many(self, tasks: Iterable[StoredTask], *, replace: bool = False) -> None:
        """Store several tasks: all of them, or none if there is an error."""
        with self._database.writing() as connection:
            for task in tasks:
                self._insert(connection, task, replace)

    def _insert(self, connection: sqlite3.Connection, task: StoredTask, replace: bool) -> None:
        self._check_weights(connection, task)
        if replace:
            self._cache.pop(task.name, None)
            connection.execute("DELETE FROM tasks WHERE name = ?", (task.name,))
        values = (len(task.examples), *task_row(task))
        try:
            connection.execute(f"INSERT INTO tasks (count, {TASK}) VALUES ({_placeholders(values)})", values)
        except sqlite3.IntegrityError:
            raise self._taken(task.name) from None

    def _check_weights(self, connection: sqlite3.Connection, task: StoredTask) -> None:
        """Raise an error unless a task belongs to this store's model, which the first task decides."""
        bound, own = fact(connection, "weights"), task.embedding.model
        if bound is None:
            set_fact(connection, "weights", [own])
        elif own not in bound:
            raise OtherModelError(
                f"{self.path}: task {task.name!r} was learned by another model ({own}) than the stored tasks "
                f"({', '.join(bound)})"
            )
        if not np.isfinite(task.embedding.vector).all():
            raise EmbeddingError(f"task {task.name!r} cannot be stored: its vector is not finite")

    def _taken(self, name: str) -> TaskExistsError:
        return TaskExistsError(
            f"{self.path}: there is a task {name!r} already: replace it, or choose another name"
        )

    def _unknown(self, name: str) -> UnknownTaskError:
        return UnknownTaskError(f"{self.path}: there is no task {shown(name)}")

    def get(self, name: str) -> StoredTask:
        """Return a stored task."""
        with self._database.reading() as connection:
            return stored_task(self._row(connection, TASK, name))

    def _row(self, connection: sqlite3.Connection, columns: str, name: str) -> tuple[Any, ...]:
        row = connection.execute(f"SELECT {columns} FROM tasks WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise self._unknown(name)
        return row

    def embeddings(self, names: Iterable[str]) -> dict[str, TaskEmbedding]:
        """Return embeddings by name, without names that are not in the store; embeddings read are cached."""
        wanted = {name for name in names if name.isprintable()}  # other names cannot be stored
        with self._database.reading() as connection:
            found = {name: self._cache[name] for name in wanted if name in self._cache}
            for name in wanted - set(found):
                row = connection.execute(f"SELECT {USED} FROM tasks WHERE name = ?", (name,)).fetchone()
                if row is not None:
                    found[name] = embedding_of(row)
            if len(self._cache) + len(found) > _MOST_CACHED:
                self._cache.clear()
            self._cache |= found
        return found

    def rename(self, name: str, new: str) -> None:
        """Rename a task."""
        try:
            self._change(name, "UPDATE tasks SET name = ?", checked_name(new))
        except sqlite3.IntegrityError:
            raise self._taken(new) from None

    def annotate(self, name: str, notes: str) -> None:
        """Replace the notes of a task."""
        self._change(name, "UPDATE tasks SET notes = ?", checked_notes(notes))

    def remove(self, name: str) -> None:
        """Remove a task."""
        self._change(name, "DELETE FROM tasks")

    def _change(self, name: str, statement: str, *values: str) -> None:
        with self._database.writing() as connection:
            self._cache.pop(name, None)
            if not connection.execute(f"{statement} WHERE name = ?", (*values, name)).rowcount:
                raise self._unknown(name)

    def list(self, search: str | None = None, limit: int | None = None, offset: int = 0) -> "list[Listed]":
        """List tasks, sorted by name.

        Args:
            search: Only tasks whose name contains this text or matches this pattern with * and ?, ignoring
                case.
            limit: The most tasks to return; None for all.
            offset: The number of tasks to skip.
        """
        where, values = ("WHERE matches(name, ?)", [search]) if search else ("", [])
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT name, count, loss, weights, notes, created FROM tasks {where} "
                "ORDER BY name LIMIT ? OFFSET ?",
                (*values, -1 if limit is None else limit, offset),
            ).fetchall()
        return [Listed(name, count, infinite_if_none(loss), *rest) for name, count, loss, *rest in rows]

    def nearest(self, task: str | TaskEmbedding, count: int = 10) -> "list[Neighbour]":
        """Find the stored tasks most similar to one of them or to an embedding of the same model, best first.

        Only tasks learned with the same weights are compared: a model may use different weights for different
        k, and their embeddings have nothing in common.
        """
        if count < 1:
            raise UserError(f"count must be at least 1: got {shown(count)}")
        with self._database.reading() as connection:
            if isinstance(task, str):
                number, *row = self._row(connection, f"id, {EMBEDDING}", task)
                embedding = embedding_of(row)
            else:
                number, embedding = None, task
            if embedding.model not in (fact(connection, "weights") or ()):
                raise OtherModelError(f"{self.path}: the task embedding belongs to another model")
            if embedding.is_support:
                raise _not_comparable()
            self._refresh(connection)
            found = self._index.nearest(embedding.model, embedding.point, count, number)
            names = _names(connection, [number for number, _ in found])
        return [Neighbour(names[number], similarity) for number, similarity in found]

    def map(self, limit: int = 2_000) -> "list[TaskMap]":
        """Map the tasks into a plane, with one map per set of weights: the newest `limit` tasks of each."""
        found: list[TaskMap] = []
        with self._database.reading() as connection:
            if connection.execute("SELECT 1 FROM tasks WHERE is_support = 1 LIMIT 1").fetchone():
                raise _not_comparable()
            self._refresh(connection)
            for weights, points in self._index.spaces.items():
                ids = points.ids[-limit:].tolist()
                names = _names(connection, ids)
                found.append(
                    TaskMap(weights, [names[i] for i in ids], *principal_components(points.units[-limit:]))
                )
        return found

    def _refresh(self, connection: sqlite3.Connection) -> None:
        """Update the index from the file.

        The embedding under an id never changes, so only new rows must be added and removed ones dropped.
        """
        rows = connection.execute(
            f"SELECT id, {EMBEDDING} FROM tasks WHERE id > ? ORDER BY id", (self._index.last,)
        )
        embeddings = ((number, embedding_of(row)) for number, *row in rows)
        self._index.add((number, one.model, one.point) for number, one in embeddings)
        if connection.execute("SELECT count(*) FROM tasks").fetchone()[0] != len(self._index):
            ids = connection.execute("SELECT id FROM tasks").fetchall()
            self._index.keep(np.array(ids, dtype=np.int64).ravel())

    def export(self, path: str | Path) -> int:
        """Write all tasks as JSONL, one per line; return how many."""
        if os.path.realpath(path_of(path)) == os.path.realpath(self.path):
            raise UserError(f"{path}: the tasks must be written to another file than the store's")
        with self._database.reading() as connection:
            rows = connection.execute(f"SELECT {TASK} FROM tasks ORDER BY name")
            return export(path, fact(connection, "weights") or [], map(stored_task, rows))

    def import_file(self, path: str | Path, *, replace: bool = False) -> int:
        """Add tasks that `export` wrote: all, or none if there is an error. Return how many."""
        weights, tasks = read_exported(path_of(path))
        with self._database.writing() as connection:
            if fact(connection, "weights") is None:
                set_fact(connection, "weights", weights)
            for task in tasks:
                self._insert(connection, task, replace)
        return len(tasks)

    def readapt(self, learner: Learner, progress: Progress | None = None) -> int:
        """Learn all tasks again with another model, to which the store then belongs; return how many.

        The store changes only once all are learned. After an interruption, the next call continues.
        """
        done = readapt(self._database, learner, identities_of(learner), progress or (lambda *_: None))
        self._cache.clear()
        return done

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _names(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, str]:
    """Look up names by id, a thousand at a time: SQLite limits the number of parameters of a query."""
    found: dict[int, str] = {}
    for start in range(0, len(ids), 1_000):
        chunk = ids[start : start + 1_000]
        found |= connection.execute(f"SELECT id, name FROM tasks WHERE id IN ({_placeholders(chunk)})", chunk)
    return found


def _placeholders(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _not_comparable() -> EmbeddingError:
    return EmbeddingError(
        "embeddings of this method hold the examples themselves and cannot be compared; those of methods "
        "that fit a vector to a task, such as tam, can"
    )
