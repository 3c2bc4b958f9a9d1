"""Several processes on one GPU: one that measures a time stops the others meanwhile, by SIGSTOP.

with present():  # others may stop this process
    ...
    with alone():  # the others are stopped
        ...
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
"""Seconds after which the others go on, so that they never wait for a process that hangs."""


def sharing_folder() -> Path:
    """The folder where each process that may be stopped keeps a locked file, named by its id."""
    found = Path(tempfile.gettempdir()) / f"tam-sharing-{os.getuid()}"
    found.mkdir(exist_ok=True)
    return found


@contextmanager
def present() -> Generator[None]:
    """Let others stop this process; waits while another one is alone."""
    file = sharing_folder() / str(os.getpid())
    with _turn():  # so that nobody finds the file before it is locked
        own = file.open("w")
        fcntl.flock(own, fcntl.LOCK_EX)
        for pid in _others():  # nobody is alone now: who is stopped was left so by one that died
            _send(pid, signal.SIGCONT)
    with own:
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


@contextmanager
def alone() -> Generator[None]:
    """Stop all others, one process at a time; an error if that lasted so long that they went on."""
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
                raise UserError(f"the other processes went on after {LONGEST:g} s: measuring took too long")
        finally:
            limit.cancel()
            go_on()


@contextmanager
def _turn() -> Generator[None]:
    with (sharing_folder() / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _others() -> Iterator[int]:
    """The other processes that may be stopped."""
    for file in sharing_folder().iterdir():
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
