"""Which process works on which run: a lock on a file in the run's folder, released when the process ends.

The folder may be on a network file system that several machines share.
"""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 0.5
"""Seconds to try for: whoever only looks holds the lock for a moment."""


class ClaimedError(Exception):
    """Another process works on the run."""


def _lock_file(folder: Path) -> Path:
    return folder / "claim.lock"


@contextmanager
def claim(folder: Path) -> Generator[None]:
    """Work on a run; ClaimedError if another process does."""
    folder.mkdir(parents=True, exist_ok=True)
    with _lock_file(folder).open("a") as file:  # it stays: a removed one could be locked twice
        end = time.monotonic() + PATIENCE
        while not _lock(file.fileno(), fcntl.LOCK_EX):
            if time.monotonic() >= end:
                raise ClaimedError(f"{folder}: another process works on this run")
            time.sleep(0.02)
        file.truncate(0)
        print(os.getpid(), file=file, flush=True)  # for people who look for the process
        yield


def is_claimed(folder: Path) -> bool:
    """Whether a process works on a run."""
    try:
        with _lock_file(folder).open() as file:
            return not _lock(file.fileno(), fcntl.LOCK_SH)
    except FileNotFoundError:
        return False


def _lock(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
