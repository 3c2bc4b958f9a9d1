"""Several processes on one GPU: a process that measures time pauses the others with SIGSTOP.

with present():  # others may pause this process
    ...
    with alone():  # the others are paused
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
from tam.training.folder import is_locked

SETTLE = 1.5
"""Seconds for the GPU to finish the work that the others launched."""
LONGEST_PAUSE = 60.0
"""Seconds after which the others continue anyway, in case the measuring process hangs."""


def sharing_folder() -> Path:
    """The folder where each process that may be paused keeps a locked file named after its id."""
    folder = Path(tempfile.gettempdir()) / f"tam-sharing-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def present() -> Generator[None]:
    """Let others pause this process; wait while another one is in `alone`."""
    file = sharing_folder() / str(os.getpid())
    with _turn():  # so that nobody sees the file before it is locked
        own = file.open("w")
        fcntl.flock(own, fcntl.LOCK_EX)
        for pid in _others():  # nobody is measuring now, so a paused process was left by one that died
            _send(pid, signal.SIGCONT)
    with own:
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


@contextmanager
def alone() -> Generator[None]:
    """Pause all other processes, for one caller at a time; raise an error if they continued too early."""
    with _turn():
        stopped: list[int] = []

        def go_on() -> None:
            for pid in stopped:
                _send(pid, signal.SIGCONT)

        limit = threading.Timer(LONGEST_PAUSE, go_on)
        limit.start()
        try:
            stopped.extend(pid for pid in _others() if _send(pid, signal.SIGSTOP))
            if stopped:
                time.sleep(SETTLE)
            yield
            if not limit.is_alive():
                raise UserError(
                    f"the other processes continued after {LONGEST_PAUSE:g} s: measuring took too long"
                )
        finally:
            limit.cancel()
            go_on()


@contextmanager
def _turn() -> Generator[None]:
    with (sharing_folder() / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _others() -> Iterator[int]:
    """The ids of the other processes that may be paused."""
    for file in sharing_folder().iterdir():
        if file.name.isdigit() and int(file.name) != os.getpid():
            if is_locked(file):
                yield int(file.name)
            else:  # it died
                file.unlink(missing_ok=True)


def _send(pid: int, number: int) -> bool:
    """Send a signal, and return whether the process exists."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
