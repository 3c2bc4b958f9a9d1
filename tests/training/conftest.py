"""Runs as processes and as config files."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pytest

from tam.config.config import Config
from tam.tasks.taskset import TaskSet


def _start_run(
    arguments: Sequence[str | Path], processes: int, script: Path | None, logs: Path | None
) -> "subprocess.Popen[str]":
    """Start `python -m tam run …`, or a script in its place, on one thread; several processes by torchrun.

    Each of several has a file for its errors, in a folder of the launcher's choice in `logs`.
    """
    command = [sys.executable, *(["-m", "tam"] if script is None else [str(script)])]
    if processes > 1:
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        launcher += ["--redirects", "2", "--log-dir", str(logs)] if logs is not None else []
        command[1:1] = launcher
    return subprocess.Popen(
        [*command, "run", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.fixture
def start_run() -> "Generator[Callable[..., subprocess.Popen[str]]]":
    started: list[subprocess.Popen[str]] = []

    def start(
        *arguments: str | Path, processes: int = 1, script: Path | None = None, logs: Path | None = None
    ) -> "subprocess.Popen[str]":
        started.append(_start_run(arguments, processes, script, logs))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def write_config(tmp_path: Path) -> Callable[[TaskSet, Config], Path]:
    """A config file for a task set, which is written beside it."""

    def write(tasks: TaskSet, config: Config) -> Path:
        tasks.write(tmp_path / "tasks.jsonl")
        path = tmp_path / "config.json"
        source = {"path": str(tmp_path / "tasks.jsonl")}
        path.write_text(json.dumps({"tasks": source, **config.to_json()}), encoding="utf-8")
        return path

    return write
