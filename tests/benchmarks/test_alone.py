"""benchmarks/alone.py: a measurement is alone, is not kept waiting, and survives the death of others."""

import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPT = """
import sys, time
from pathlib import Path
from alone import Turnstile

how, folder, seconds, times = sys.argv[1:]
turn = Turnstile(Path(folder))
print("ready", flush=True)
for _ in range(int(times)):
    with getattr(turn, how)():
        print("in", time.monotonic(), flush=True)
        time.sleep(float(seconds))
        print("out", time.monotonic(), flush=True)
"""


class Visitor:
    """A process that goes in some times, and stays some seconds each time."""

    def __init__(self, how: str, turn: Any, seconds: float, times: int = 1) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, how, str(turn.folder), str(seconds), str(times)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=FOLDER,
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def went(self, what: str) -> float:
        """Waits until the process has gone in, or out; when that was."""
        word, when = self._line().split()
        assert word == what
        return float(when)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


Start = Callable[..., Visitor]


@pytest.fixture
def turn(load: Callable[[str], ModuleType], tmp_path: Path) -> Any:
    return load("alone").Turnstile(tmp_path)


@pytest.fixture
def start(turn: Any) -> Generator[Start]:
    started: list[Visitor] = []

    def one(how: str, seconds: float, times: int = 1) -> Visitor:
        started.append(Visitor(how, turn, seconds, times))
        return started[-1]

    yield one
    for visitor in started:
        visitor.kill()


def test_work_is_shared(turn: Any, start: Start) -> None:
    with turn.shared():
        start("shared", 0.0).went("in")


@pytest.mark.parametrize("other", ["shared", "alone"])
def test_a_measurement_is_alone(turn: Any, start: Start, other: str) -> None:
    with turn.alone():
        visitor = start(other, 0.2)
        time.sleep(0.2)
        left = time.monotonic()
    assert left <= visitor.went("in")
    with turn.alone():
        assert visitor.went("out") <= time.monotonic()


def test_a_measurement_waits_for_those_inside(turn: Any, start: Start) -> None:
    first, second = start("shared", 0.3), start("shared", 0.1)
    first.went("in")
    second.went("in")
    with turn.alone():
        began = time.monotonic()
    assert max(first.went("out"), second.went("out")) <= began


def test_a_measurement_is_not_starved(turn: Any, start: Start) -> None:
    visitors = [start("shared", 0.05 + 0.01 * place, 1000) for place in range(4)]
    for visitor in visitors:
        visitor.went("in")
    began = time.monotonic()
    for _ in range(3):
        with turn.alone():
            pass
    assert time.monotonic() - began < 5.0


@pytest.mark.parametrize("how", ["shared", "alone"])
def test_a_killed_process_blocks_nobody(turn: Any, start: Start, how: str) -> None:
    inside = start(how, 60.0)
    inside.went("in")
    waiting = start("alone", 60.0)  # with the gate shut
    time.sleep(0.1)
    waiting.kill()
    inside.kill()
    began = time.monotonic()
    with turn.alone():
        pass
    with turn.shared():
        pass
    assert time.monotonic() - began < 5.0


def test_an_error_inside_leaves_it_open(turn: Any) -> None:
    for inside in (turn.alone, turn.shared):
        with pytest.raises(KeyError), inside():
            raise KeyError
    with turn.alone():
        pass
