"""The SQLite file of a store: opened, checked, read and written in transactions."""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tam.errors import UserError

APPLICATION = 0x74616D73
"""SQLite's application id of a store; files with another one are left alone."""
_FORMAT = 1
_TIMEOUT = 30.0  # seconds to wait while another process writes

# Ids are never reused, and only the name and the notes under an id can change.
_EMBEDDING = """
    weights TEXT NOT NULL,
    vector BLOB NOT NULL,
    labels TEXT NOT NULL,
    primitives TEXT NOT NULL,
    loss REAL,
    is_support INTEGER NOT NULL,
    searches INTEGER NOT NULL"""
_SCHEMA = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    f"""CREATE TABLE tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    count INTEGER NOT NULL,
    examples TEXT NOT NULL,
    created TEXT NOT NULL,
    notes TEXT NOT NULL,{_EMBEDDING})""",
    "CREATE INDEX tasks_by_weights ON tasks (weights)",
    f"CREATE TABLE adapted (id INTEGER PRIMARY KEY,{_EMBEDDING})",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {_FORMAT}",
)


class Database:
    """One connection to a file, created if missing, which threads may share.

    `changed` is called at the start of a transaction if another connection has written since the last one.
    """

    def __init__(self, path: Path, changed: Callable[[], None]) -> None:
        self.path, self._changed = path, changed
        self._lock, self._seen = threading.RLock(), -1
        with self._errors():
            self._connection = sqlite3.connect(
                path, timeout=_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            try:
                self._open()
            except BaseException:
                self._connection.close()
                raise

    def _open(self) -> None:
        self._connection.create_function("matches", 2, _matches, deterministic=True)
        self._connection.execute("BEGIN")  # one snapshot: another process may be creating it
        found = self._number("application_id")
        has_tables = self._connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
        self._connection.execute("COMMIT")
        if found not in (0, APPLICATION) or (found == 0 and has_tables):
            raise UserError(f"{self.path}: not a task store, but a database of another program")
        self._use_wal()
        self._connection.execute("PRAGMA synchronous = FULL")  # commits survive a power failure
        if self._number("application_id") == 0:
            self._connection.execute("BEGIN IMMEDIATE")
            if self._number("application_id") == 0:  # else another process has just created it
                for statement in _SCHEMA:
                    self._connection.execute(statement)
            self._connection.execute("COMMIT")
        if (found := self._number("user_version")) != _FORMAT:
            raise UserError(f"{self.path}: format must be {_FORMAT} for this version: got {found}")

    def _use_wal(self) -> None:
        """Let readers and a writer work concurrently; SQLite applies no timeout to this statement."""
        until = time.monotonic() + _TIMEOUT
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def _number(self, pragma: str) -> int:
        return self._connection.execute(f"PRAGMA {pragma}").fetchone()[0]

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open a read transaction, in which everything is read from one snapshot."""
        return self._transaction("BEGIN")

    def writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open a write transaction: on disk as a whole at the end, or rolled back if there is an error."""
        return self._transaction("BEGIN IMMEDIATE")

    @contextmanager
    def _transaction(self, begin: str) -> Generator[sqlite3.Connection]:
        with self._lock, self._errors():
            self._connection.execute(begin)
            try:
                self._connection.execute("SELECT 1 FROM facts").fetchone()  # takes the snapshot
                if (version := self._number("data_version")) != self._seen:
                    self._seen = version
                    self._changed()
                yield self._connection
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except UnicodeEncodeError as error:
            raise UserError(f"{self.path}: a name or text has a lone surrogate: {error.object!r}") from None
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            what = "the store is closed" if isinstance(error, sqlite3.ProgrammingError) else str(error)
            raise UserError(f"{self.path}: {what}") from None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


def fact(connection: sqlite3.Connection, name: str) -> Any:
    """Return a fact about the whole store; None if there is none of this name."""
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if row is None else json.loads(row[0])


def set_fact(connection: sqlite3.Connection, name: str, value: Any) -> None:
    """Replace a fact; None removes it."""
    if value is None:
        connection.execute("DELETE FROM facts WHERE name = ?", (name,))
    else:
        connection.execute("REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))


def _matches(name: str, pattern: str) -> bool:
    """Whether a name contains a text or matches a pattern with * and ?, ignoring case."""
    name, pattern = name.casefold(), pattern.casefold()
    return pattern in name or fnmatchcase(name, pattern)
