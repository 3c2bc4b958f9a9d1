"""Small task sets that can be learned in seconds, and configs for them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tam.config.config import Config
from tam.tasks.rng import Rng
from tam.tasks.task import Classes, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary

DIGITS = Vocabulary(range(5))


def _task(kind: str, name: str, rule: int, size: int, primitives: tuple[str, ...]) -> Task:
    """Classification by one of three tokens, transduction by adding a number to each token."""
    x = Rng("toy", name, size).integers(5, 3 * size).reshape(size, 3)
    if kind == "classification":
        answers = Classes((x[:, rule % 3] + rule // 3) % 5 // 2, ("low", "middle", "high"))
        return Task(name, DIGITS, Sequences(x, np.full(size, 3)), answers, primitives)
    y = Sequences.from_lists(((x + rule) % 5).tolist(), 5)
    return Task(name, DIGITS, Sequences.from_lists(x.tolist(), 5), y, primitives)


def _toy_tasks(kind: str = "classification", *, compositional: bool = False, size: int = 40) -> TaskSet:
    def tasks(split: str, count: int) -> tuple[Task, ...]:
        made: list[Task] = []
        for rule in range(count):
            names = (f"p{rule % 2}", f"q{rule % 3}" if split == "train" else "q-new")
            made.append(_task(kind, f"{split} {rule}", rule, size, names if compositional else ()))
        return tuple(made)

    return TaskSet({"train": tasks("train", 6), "valid": tasks("valid", 2), "test": tasks("test", 3)}, DIGITS)


TOY: dict[str, Any] = {
    "layers": 1,
    "width": 8,
    "heads": 2,
    "steps": 6,
    "tasks": 4,
    "rows": 8,
    "rate": 0.01,
    "warmup": 2,
    "validate_every": 3,
    "checkpoint_every": 2,
    "shots": (1, 2),
    "supports": 1,
    "queries": 5,
    "adapt_steps": (1, 3),
    "adapt_rates": (0.1,),
}

TOY_BY_METHOD: dict[str, dict[str, Any]] = {
    "tam": {"inner_steps": 2, "inner_rate": 0.1},
    "agnostic": {"use_primitives": False},
    "multitask": {},
    "maml": {"inner_steps": 2, "inner_rate": 0.1, "support_sizes": (2, 4)},
    "cavia": {"inner_steps": 2, "inner_rate": 0.5, "support_sizes": (2, 4)},
    "snail": {"adapt_steps": (0,), "adapt_rates": (0.0,)},
    "matching": {"adapt_steps": (0,), "adapt_rates": (0.0,)},
}


def _toy_config(method: str = "tam", **values: Any) -> Config:
    return Config.from_preset("paper", method, **TOY | TOY_BY_METHOD[method] | values)


@pytest.fixture
def toy_tasks() -> Callable[..., TaskSet]:
    return _toy_tasks


@pytest.fixture
def toy_config() -> Callable[..., Config]:
    return _toy_config


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
