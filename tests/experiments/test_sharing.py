"""Several processes on one GPU: who is alone has stopped all others."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO

import pytest

from tam.errors import UserError
from tam.experiments import sharing as module

COUNTS = """
import sys, time
from pathlib import Path
from tam.experiments import sharing
sharing.folder = lambda: Path(sys.argv[1])
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
    monkeypatch.setattr(module, "folder", lambda: found)
    monkeypatch.setattr(module, "SETTLE", 0.1)
    return module


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_others_are_stopped_and_go_on(sharing: ModuleType, tmp_path: Path) -> None:
    counts = [tmp_path / f"count {number}" for number in range(2)]
    arguments = [sys.executable, "-c", COUNTS, str(sharing.folder())]
    others = [subprocess.Popen([*arguments, str(count)]) for count in counts]
    try:
        wait_until(lambda: all(count.exists() and count.stat().st_size > 5 for count in counts))
        with sharing.present():
            with sharing.alone():
                before = [count.stat().st_size for count in counts]
                time.sleep(0.1)
                assert [count.stat().st_size for count in counts] == before
            wait_until(lambda: all(count.stat().st_size > b for count, b in zip(counts, before, strict=True)))
            others[0].kill()
            others[0].wait()
            with sharing.alone():  # one that died is in nobody's way
                assert {file.name for file in sharing.folder().iterdir()} >= {"turn", str(others[1].pid)}
                assert not (sharing.folder() / str(others[0].pid)).exists()
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_nobody_is_stopped_for_ever(
    sharing: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "LONGEST", 0.5)
    count = tmp_path / "count"
    arguments = [sys.executable, "-c", COUNTS, str(sharing.folder()), str(count)]
    other = subprocess.Popen(arguments)

    def be_alone_until_it_goes_on() -> None:
        with sharing.alone():
            before = count.stat().st_size
            wait_until(lambda: count.stat().st_size > before)

    try:
        wait_until(count.exists)
        with pytest.raises(UserError, match="too long"):
            be_alone_until_it_goes_on()
    finally:
        other.kill()
        other.wait()


def test_who_comes_waits_until_nobody_is_alone(sharing: ModuleType, tmp_path: Path) -> None:
    count = tmp_path / "count"
    arguments = [sys.executable, "-c", COUNTS, str(sharing.folder()), str(count)]
    with sharing.alone():
        other = subprocess.Popen(arguments, stdout=subprocess.PIPE)
        assert other.stdout is not None
        assert other.stdout.readline() == b"here\n"
        time.sleep(0.05)
        assert not count.exists()
    try:
        wait_until(count.exists)
    finally:
        other.kill()
        other.communicate()


def test_one_that_leaves_meanwhile_is_in_nobody_s_way(
    sharing: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is seen when files are listed, and gone when its file is opened."""
    gone = sharing.folder() / "1"
    monkeypatch.setattr(Path, "iterdir", lambda _: iter([gone]))
    with sharing.alone():
        pass


def test_others_go_on_after_any_error(sharing: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []

    def others() -> Iterator[int]:
        yield 1
        raise OSError("no more files")

    def send(pid: int, number: int) -> bool:
        sent.append((pid, number))
        return True

    monkeypatch.setattr(sharing, "_others", others)
    monkeypatch.setattr(sharing, "_send", send)
    with pytest.raises(OSError, match="no more files"), sharing.alone():
        pass
    assert sent == [(1, signal.SIGSTOP), (1, signal.SIGCONT)]


def test_a_file_is_there_only_when_it_is_locked(sharing: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is alone takes a file without a lock for that of a process that died."""
    lock, held = sharing.fcntl.flock, list[str]()

    def noted(file: IO[str], how: int) -> None:
        held.append(Path(file.name).name)
        lock(file, how)

    monkeypatch.setattr(sharing.fcntl, "flock", noted)
    with sharing.present():
        assert held == ["turn", str(os.getpid())]
        assert sharing._is_locked(sharing.folder() / str(os.getpid()))
    assert not (sharing.folder() / str(os.getpid())).exists()
