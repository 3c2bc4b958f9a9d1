"""Where jobs run makes no difference to their results; real processes, and a real Ray of two workers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
import torch

from tam.errors import OUT_OF_MEMORY, InterruptedRunError, UserError
from tam.experiments.job import Job
from tam.experiments.results import Folders, result_of, status
from tam.experiments.run_workers import environment
from tam.experiments.work import Ending, Order, attempt
from tam.training.folder import LockedError, lock_file
from tests.experiments.small import JOBS, LONG, reproduce, small, start_command, wait_for

pytestmark = pytest.mark.slow


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Generator[Start]:
    """Start a command, which ends with the test."""
    commands: list[subprocess.Popen[str]] = []

    def begin(folders: Folders, *words: str, path: str = "") -> "subprocess.Popen[str]":
        commands.append(start_command(folders, *words, path=path))
        return commands[-1]

    yield begin
    for command in commands:
        command.kill()
        command.communicate()


def found(folders: Folders, jobs: list[Job]) -> list[Any]:
    """What runs have found, apart from times."""
    results = [result_of(job, folders) or {} for job in jobs]
    return [
        (one["scores"], one["best_steps"], [(point["step"], point["scores"]) for point in one["curve"]])
        for one in results
    ]


@pytest.mark.timeout(400)
def test_all_executors_give_the_same_results(folders: Folders, start: Start, tmp_path: Path) -> None:
    """Ray loses the process of a run in the middle of it, and takes the run up again.

    Without Ray, no process needs more than the core: torch, numpy and safetensors.
    """
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    for name in ("tyro", "rich", "matplotlib", "ray"):
        (blocked / f"{name}.py").write_text(f"raise ImportError('{name} is not installed')")
    here, workers, ray = (
        folders._replace(results=folders.results / name, runs=folders.runs / name)
        for name in ("here", "workers", "ray")
    )
    on_ray = start(ray, "long", "--on", "ray", "--at-once", "2")
    folder = ray.run_folder(LONG)
    wait_for(folder / "checkpoint.safetensors")
    os.kill(int(lock_file(folder).read_text()), signal.SIGKILL)
    with_workers = start(workers, "first", "--at-once", "2", path=str(blocked))
    reproduce(here, [*JOBS, LONG], "--on", "here")
    for command in (on_ray, with_workers):
        out, _ = command.communicate(timeout=200)
        assert command.returncode == 0, out
    assert (result_of(LONG, ray) or {})["processes"] == 2
    assert found(ray, [LONG]) == found(here, [LONG])
    assert found(workers, JOBS) == found(here, JOBS)


def test_two_commands_share_the_work(
    folders: Folders, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    command = start(folders, "first", "--on", "here")
    wait_for(lock_file(folders.run_folder(JOBS[0])))
    reproduce(folders, JOBS, "--on", "here")
    text = command.communicate(timeout=100)[0] + capsys.readouterr().out
    assert command.returncode == 0, text
    for job in JOBS:
        assert text.count(f"{job.name}: step 4 of 4") == 1, text
        assert (result_of(job, folders) or {})["processes"] == 1


def test_here_it_ends_in_time_and_goes_on(folders: Folders) -> None:
    job = small("endless", values={"steps": 10**6, "validate_every": 10**6, "checkpoint_every": 10})
    reproduce(folders, [small("good")], "--on", "here")
    before, started = signal.getsignal(signal.SIGTERM), time.monotonic()
    reproduce(folders, [small("good"), job, small("after")], "--on", "here", "--seconds", "4")
    assert 3 <= time.monotonic() - started < 8  # asked after 3; then a step and a checkpoint, if busy slowly
    assert signal.getsignal(signal.SIGTERM) == before
    assert status(small("good"), folders).done
    assert status(job, folders) == (False, "interrupted")
    assert status(small("after"), folders) == (False, "")


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (LockedError("taken"), Ending("claimed")),
        (UserError("no rows"), Ending("failed", "no rows", "error: no rows")),
        (KeyError("bug"), Ending("failed", "KeyError: 'bug'")),
        (torch.OutOfMemoryError("CUDA out of memory"), Ending("failed", OUT_OF_MEMORY, OUT_OF_MEMORY)),
        (RuntimeError("Triton Error [CUDA]: out of memory"), Ending("failed", OUT_OF_MEMORY, OUT_OF_MEMORY)),
        (InterruptedRunError(), None),
    ],
)
def test_how_an_attempt_ends(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, error: Exception, ending: Ending | None
) -> None:
    def work(_: Order) -> None:
        raise error

    monkeypatch.setattr("tam.experiments.work.work", work)
    order = Order(small(), folders, 1, 0.0)
    if ending is None:
        with pytest.raises(InterruptedRunError):
            attempt(order)
    else:
        found = attempt(order)
        assert found[:2] == ending[:2]
        assert found.out_of_memory == ending.out_of_memory
        assert ending.log in found.log


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--on ray", r"pip install 'tam-fewshot\[ray\]'"),
        ("--on here --at-once 2", "--at-once must be 1 with --on here: got 2"),
        ("--only nothing", "no run .* 'nothing'"),
        ("--device cuda", "no GPU"),
        ("--results /dev/null/results", "/dev/null/results: cannot be written"),
    ],
)
def test_mistakes(folders: Folders, monkeypatch: pytest.MonkeyPatch, words: str, message: str) -> None:
    """They are noticed before the first run starts."""
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(UserError, match=message):
        reproduce(folders, JOBS, *words.split())
    assert not folders.runs.exists() or not list(folders.runs.iterdir())


def test_results_go_into_a_folder(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        reproduce(folders, JOBS, "--dry-run", "--results", __file__)
    assert f"must be a folder: got {__file__}" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "-5", "soon"])
def test_seconds_are_a_number_above_zero(
    folders: Folders, seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        reproduce(folders, JOBS, f"--seconds={seconds}")
    assert f"must be a number above 0: got {seconds}" in capsys.readouterr().err


def test_a_damaged_result_is_named_before_the_first_run_starts(folders: Folders) -> None:
    folders.results.mkdir(parents=True)
    (folders.results / "other-01234567.json").write_text('{"steps": ')
    with pytest.raises(UserError, match=r"other-01234567\.json:1: not JSON"):
        reproduce(folders, JOBS)
    assert not folders.runs.exists()


def test_cores_are_shared_where_affinities_are_unknown(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert environment(Order(small(), folders, 4, 0.0))["OMP_NUM_THREADS"] == "2"
