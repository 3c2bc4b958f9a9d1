"""The command as a process: what it prints, where it cannot print, and who stops reading."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.real_command import COMMAND, run
from tests.cli.small_sets import SETS

pytestmark = pytest.mark.slow


def test_the_real_command() -> None:
    done = run("tasks", *SETS["classification"], "--show", "1")
    assert (done.returncode, done.stderr) == (0, "")
    words = [sys.executable, "-m", "tam", "tasks", *SETS["classification"], "--show", "1"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == done.stdout
    assert len(done.stdout.splitlines()) == 2 + 1 + 5


def printed_to(stream: Any, unbuffered: str, *words: str) -> tuple[int, str]:
    """The exit code of the command, and its errors."""
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(
        [COMMAND, *words], stdout=stream, stderr=subprocess.PIPE, text=True, check=False, env=environment
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["tasks", *SETS["pathfinding"], "--show", "10"], ["tasks", "--help"]])
def test_a_reader_that_stops_reading(arguments: list[str], unbuffered: str) -> None:
    """As `tam tasks … | head -1` does; here the pipe is closed before anything is written."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as pipe:
        assert printed_to(pipe, unbuffered, *arguments) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_has_no_room(unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        code, errors = printed_to(full, unbuffered, "tasks", *SETS["pathfinding"])
    assert code == 1
    assert re.fullmatch("error: .* No space left on device\n", errors)


@pytest.mark.parametrize(("words", "code"), [(SETS["pathfinding"], 0), (["clasification"], 1)])
def test_streams_that_are_closed(words: list[str], code: int) -> None:
    """The exit code and the other stream are as ever."""
    expected = run("tasks", *words)
    for closed, left in ((">&-", ("", expected.stderr)), ("2>&-", (expected.stdout, ""))):
        shell = f"{shlex.join([COMMAND, 'tasks', *words])} {closed}"
        done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (code, *left)


def test_output_that_cannot_show_arrows() -> None:
    done = run("tasks", *SETS["pathfinding"], PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  ?  " in done.stdout
