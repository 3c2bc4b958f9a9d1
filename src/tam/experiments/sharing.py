"""Many processes on one GPU: what measures a time stops the others meanwhile.

    with present():  # from here on, others may stop this process
        ...
        with alone():  # from here on, they are stopped
            ...

Stopped by SIGSTOP, a process launches nothing, whatever it was at: compiling, training or scoring.
"""

import fcntl
import os
import signal
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from tam.errors import UserError

SETTLE = 1.5
"""Seconds in which a GPU finishes what was launched before."""
LONGEST = 60.0
"""Seconds after which others go on, so that they do not wait for ever for what hangs."""


def folder() -> Path:
    """Where processes that can be stopped have a file each, which they keep locked."""
    found = Path(tempfile.gettempdir()) / f"tam-sharing-{os.getuid()}"
    found.mkdir(exist_ok=True)
    return found


@contextmanager
def present() -> Generator[None]:
    """Others that want to be alone stop this process; who is alone already is waited for."""
    file = folder() / str(os.getpid())
    with _turn():  # or whoever is alone would find a file that is not locked yet
        own = file.open("w")
        fcntl.flock(own, fcntl.LOCK_EX)
    with own:
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


@contextmanager
def alone() -> Generator[None]:
    """All others are stopped; one process at a time is alone. An error if that takes very long."""
    with _turn():
        stopped: list[int] = []

        def go_on() -> None:
            for pid in stopped:
                _send(pid, signal.SIGCONT)

        limit = threading.Timer(LONGEST, go_on)
        limit.start()
        try:
            stopped.extend(pid for pid in _others() if _send(pid, signal.SIGSTOP))
            if stopped:
                time.sleep(SETTLE)
            yield
            if not limit.is_alive():
                raise UserError(f"after {LONGEST:g} s alone the other processes were let go on: too long")
        finally:
            limit.cancel()
            go_on()


@contextmanager
def _turn() -> Generator[None]:
    with (folder() / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _others() -> Iterator[int]:
    """The processes that are there, besides this one."""
    for file in folder().iterdir():
        if file.name.isdigit() and int(file.name) != os.getpid():
            if _is_locked(file):
                yield int(file.name)
            else:  # it died
                file.unlink(missing_ok=True)


def _is_locked(file: Path) -> bool:
    try:
        with file.open() as theirs:
            fcntl.flock(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:  # it has just left
        pass
    return False


def _send(pid: int, number: int) -> bool:
    """Send a signal; whether the process was there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
