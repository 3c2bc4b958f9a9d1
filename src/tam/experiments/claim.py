"""A process claims a run by locking a file in the run's folder until it ends.

The folder may be on a network file system that several machines share.
"""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_LOCK = "claim.lock"
PATIENCE = 0.5
"""Seconds to keep trying, since `is_claimed` holds the lock briefly."""


class ClaimedError(Exception):
    """Another process is working on the run."""


@contextmanager
def claim(folder: Path) -> Generator[None]:
    """Claim a run while working on it; raise ClaimedError if another process has."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("a") as file:  # never removed: another process may hold it
        end = time.monotonic() + PATIENCE
        while not _lock(file.fileno(), fcntl.LOCK_EX):
            if time.monotonic() >= end:
                raise ClaimedError(f"{folder}: another process is working on this run")
            time.sleep(0.02)
        file.truncate(0)
        print(os.getpid(), file=file, flush=True)  # for people who look
        yield


def is_claimed(folder: Path) -> bool:
    """Whether a process is working on a run."""
    try:
        with (folder / _LOCK).open() as file:
            return not _lock(file.fileno(), fcntl.LOCK_SH)
    except FileNotFoundError:
        return False


def _lock(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
