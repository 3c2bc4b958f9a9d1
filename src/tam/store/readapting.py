"""Learn all tasks of a store again, from their examples, with another model."""

import sqlite3
from collections.abc import Sequence

from tam.errors import UserError
from tam.learner.inputs import ExamplesError
from tam.learner.learner import Learner
from tam.store.database import Database, fact, set_fact
from tam.store.rows import EMBEDDING, embedding_row, examples_of, primitives_of
from tam.tasks.benchmark import Progress
from tam.tasks.composition import PrimitivesError

_AT_ONCE = 256
_SHOWN = 3
_PENDING = "FROM tasks WHERE id NOT IN (SELECT id FROM adapted)"


def readapt(database: Database, learner: Learner, weights: Sequence[str], progress: Progress) -> int:
    """See `Store.readapt`; `weights` are the identities of the learner's weights.

    New embeddings are collected in a separate table, so that an interrupted call loses none, and replace the
    old ones in one transaction. Tasks that another process adds in the meantime are learned too.
    """
    with database.writing() as connection:
        if fact(connection, "weights") == weights:
            return 0
        if fact(connection, "adapting") != weights:
            connection.execute("DELETE FROM adapted")
            set_fact(connection, "adapting", list(weights))
        _check_all(database, connection, learner)
    while True:
        with database.writing() as connection:
            total = connection.execute("SELECT count(*) FROM tasks").fetchone()[0]
            if fact(connection, "weights") == weights:  # another process has finished it
                return total
            _check_alone(database, connection, weights)
            rows = connection.execute(
                f"SELECT id, examples, primitives {_PENDING} ORDER BY id LIMIT ?", (_AT_ONCE,)
            ).fetchall()
            if not rows:
                _swap(connection, weights)
                return total
            pending = connection.execute(f"SELECT count(*) {_PENDING}").fetchone()[0]
        _learn(database, learner, weights, rows)
        progress(total - pending + len(rows), total)


def _check_alone(database: Database, connection: sqlite3.Connection, weights: Sequence[str]) -> None:
    if fact(connection, "adapting") != weights:
        raise UserError(f"{database.path}: another process learns its tasks with a different model")


def _check_all(database: Database, connection: sqlite3.Connection, learner: Learner) -> None:
    """Raise an error before hours of work if the model cannot learn some of the tasks."""
    problems: list[str] = []
    for name, examples, primitives in connection.execute(f"SELECT name, examples, primitives {_PENDING}"):
        pairs = examples_of(examples)
        if learner.model_.spec.kind == "transduction" and any(isinstance(y, str) for _, y in pairs):
            problems.append(f"task {name!r}: its answers are labels, and those of the model are sequences")
            continue
        try:
            learner.intake.task(f"task {name!r}", pairs, primitives_of(primitives))
        except (ExamplesError, PrimitivesError) as error:
            problems.append(str(error))
    if problems:
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise UserError(
            f"{database.path}: {len(problems)} tasks do not fit the model: "
            f"{'; '.join(problems[:_SHOWN])}{more}. "
            "The store is unchanged; remove these tasks to continue without them"
        )


def _learn(
    database: Database, learner: Learner, weights: Sequence[str], rows: Sequence[tuple[int, str, str]]
) -> None:
    learned = learner.adapt_many(
        [examples_of(examples) for _, examples, _ in rows],
        [primitives_of(primitives) for *_, primitives in rows],
    )
    values = [(row[0], *embedding_row(rule)) for row, rule in zip(rows, learned, strict=True)]
    with database.writing() as connection:
        _check_alone(database, connection, weights)
        connection.executemany(
            f"REPLACE INTO adapted (id, {EMBEDDING}) VALUES ({', '.join('?' * len(values[0]))})", values
        )


def _swap(connection: sqlite3.Connection, weights: Sequence[str]) -> None:
    """Replace the old embeddings with the new ones.

    The tasks get new ids, by which other processes notice the change.
    """
    columns = ", ".join(f"{name} = adapted.{name}" for name in EMBEDDING.split(", "))
    connection.execute(
        f"UPDATE tasks SET id = tasks.id + (SELECT coalesce(max(seq), 0) FROM sqlite_sequence), {columns} "
        "FROM adapted WHERE adapted.id = tasks.id"
    )
    connection.execute("UPDATE sqlite_sequence SET seq = (SELECT max(id) FROM tasks)")
    connection.execute("DELETE FROM adapted")
    set_fact(connection, "weights", list(weights))
    set_fact(connection, "adapting", None)
