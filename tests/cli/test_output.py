"""The command as a process: what it prints, where it cannot print, and who stops reading."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.real_command import COMMAND, run
from tests.cli.small_sets import SETS


def test_the_real_command() -> None:
    done = run("tasks", *SETS["classification"], "--show", "1")
    assert (done.returncode, done.stderr) == (0, "")
    module = subprocess.run(
        [sys.executable, "-m", "tam", "tasks", *SETS["classification"], "--show", "1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert module.stdout == done.stdout
    assert len(done.stdout.splitlines()) == 2 + 1 + 5


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["tasks", *SETS["pathfinding"], "--show", "10"], ["tasks", "--help"]])
def test_a_reader_that_stops_reading(arguments: list[str], unbuffered: str) -> None:
    """As `tam tasks … | head -1` does; here the pipe is closed before anything is written."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as pipe:
        done = subprocess.run(
            [COMMAND, *arguments],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_has_no_room(unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [COMMAND, "tasks", *SETS["pathfinding"]],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    message = "error: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, message)


MODULE = [sys.executable, "-m", "tam", "run", "config.json", "--out", "run"]


@pytest.mark.parametrize("words", [[COMMAND, "tasks", *SETS["pathfinding"]], [COMMAND, "--help"], MODULE])
def test_output_that_is_closed(words: list[str]) -> None:
    shell = f"{shlex.join(words)} >&-"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
    message = "error: the output cannot be written: standard output is closed\n"
    assert (done.returncode, done.stderr) == (1, message)


def test_standard_error_that_is_closed() -> None:
    """What is asked for comes all the same; of a mistake the exit code is left."""
    for words, code in ((SETS["pathfinding"], 0), (["clasification"], 1)):
        shell = f"{shlex.join([COMMAND, 'tasks', *words])} 2>&-"
        done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (code, "" if code else run("tasks", *words).stdout)


def test_head() -> None:
    shell = f"{COMMAND} tasks {' '.join(SETS['pathfinding'])} --show 10 | head -1"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_output_that_cannot_show_arrows() -> None:
    done = run("tasks", *SETS["pathfinding"], PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  ?  " in done.stdout
