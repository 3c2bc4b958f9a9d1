"""Take turns with a GPU: many processes share it, and one that measures has it alone.

    turn = Turnstile()
    with turn.shared():
        ...  # beside others
    with turn.alone():
        ...  # when those inside have left, and before others come in

Who wants to come in takes the gate, then a lock on the floor, and leaves the gate open behind. One that
measures waits for the floor with the gate shut, so that those who share it cannot keep it out. Both are
locks of files, which the kernel takes back from a process that dies. Turns are not nested.
"""

import fcntl
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(tempfile.gettempdir()) / "tam-gpu-turn"
"""Where the processes of a machine meet."""


class Turnstile:
    """The turns of all processes that name the same folder."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder

    @contextmanager
    def shared(self) -> Generator[None]:
        """Work beside others; waits while one measures or is waiting to."""
        with self._inside(fcntl.LOCK_SH):
            yield

    @contextmanager
    def alone(self) -> Generator[None]:
        """Measure; waits until all who are inside have left, and keeps others from entering."""
        with self._inside(fcntl.LOCK_EX):
            yield

    @contextmanager
    def _inside(self, how: int) -> Generator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with _opened(self.folder / "floor") as floor:
            with _opened(self.folder / "gate") as gate:
                fcntl.flock(gate, fcntl.LOCK_EX)
                fcntl.flock(floor, how)
            yield


@contextmanager
def _opened(path: Path) -> Generator[int]:
    """A file that is unlocked in the end, also where a child process has inherited it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        yield file
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)
