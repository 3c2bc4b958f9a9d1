"""Several processes on one GPU: who is alone has stopped all others."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tam.errors import UserError
from tam.experiments import sharing as module

COUNTS = """
import sys, time
from pathlib import Path
from tam.experiments import sharing
sharing.sharing_folder = lambda: Path(sys.argv[1])
print("here", flush=True)
with sharing.present(), open(sys.argv[2], "ab", buffering=0) as file:
    while True:
        file.write(b".")
        time.sleep(0.001)
"""


@pytest.fixture
def sharing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, apart from other processes."""
    found = tmp_path / "sharing"
    found.mkdir()
    monkeypatch.setattr(module, "sharing_folder", lambda: found)
    monkeypatch.setattr(module, "SETTLE", 0.1)
    return module


class Counter:
    """Another process, which writes to a file as long as it is not stopped."""

    def __init__(self, sharing: ModuleType, file: Path) -> None:
        self.file = file
        arguments = [sys.executable, "-c", COUNTS, str(sharing.sharing_folder()), str(file)]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        with self.process.stdout as out:
            assert out.readline() == b"here\n"

    def count(self) -> int:
        return self.file.stat().st_size if self.file.exists() else 0

    def wait_for_more(self) -> None:
        before, end = self.count(), time.monotonic() + 20
        while self.count() <= before:
            assert time.monotonic() < end
            time.sleep(0.005)


@pytest.fixture
def counting(sharing: ModuleType, tmp_path: Path) -> Generator[Callable[[], Counter]]:
    """Start another process, which ends with the test."""
    started: list[Counter] = []

    def start() -> Counter:
        started.append(Counter(sharing, tmp_path / str(len(started))))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


Start = Callable[[], Counter]


def test_others_are_stopped_and_go_on(sharing: ModuleType, counting: Start) -> None:
    first, second = counting(), counting()
    for other in (first, second):
        other.wait_for_more()
    with sharing.present():
        with sharing.alone():
            before = first.count(), second.count()
            time.sleep(0.1)
            assert (first.count(), second.count()) == before
        for other in (first, second):
            other.wait_for_more()
        first.process.kill()
        first.process.wait()
        with sharing.alone():  # one that died is in nobody's way
            names = {file.name for file in sharing.sharing_folder().iterdir()}
            assert names == {"turn", str(os.getpid()), str(second.process.pid)}


def test_nobody_is_stopped_for_ever(
    sharing: ModuleType, counting: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "LONGEST_PAUSE", 0.5)
    other = counting()
    other.wait_for_more()
    with pytest.raises(UserError, match="too long"), sharing.alone():
        other.wait_for_more()


def test_who_comes_waits_until_nobody_is_alone(sharing: ModuleType, counting: Start) -> None:
    with sharing.alone():
        other = counting()
        time.sleep(0.05)
        assert other.count() == 0
    other.wait_for_more()


def test_others_go_on_after_any_error(sharing: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []

    def others() -> Iterator[int]:
        yield 1
        raise OSError("no more files")

    monkeypatch.setattr(sharing, "_others", others)
    monkeypatch.setattr(sharing, "_send", lambda pid, number: sent.append((pid, number)) or True)
    with pytest.raises(OSError, match="no more files"), sharing.alone():
        pass
    assert sent == [(1, signal.SIGSTOP), (1, signal.SIGCONT)]
