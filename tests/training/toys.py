"""Small task sets that can be learned in seconds, configs for them, and a log that keeps nothing."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tam.config.config import Config
from tam.tasks.rng import Rng
from tam.tasks.task import Classes, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary
from tam.training.folder import Log
from tam.training.loop import train
from tam.training.preflight import prepare
from tam.training.trainer import Trainer

WriteConfig = Callable[[TaskSet, Config], Path]
Start = Callable[..., "subprocess.Popen[str]"]

DIGITS = Vocabulary(range(5))


def _task(kind: str, name: str, rule: int, size: int, primitives: tuple[str, ...]) -> Task:
    """Classification by one of three tokens, transduction by adding a number to each token."""
    x = Rng("toy", name, size).integers(5, 3 * size).reshape(size, 3)
    if kind == "classification":
        answers = Classes((x[:, rule % 3] + rule // 3) % 5 // 2, ("low", "middle", "high"))
        return Task(name, DIGITS, Sequences(x, np.full(size, 3)), answers, primitives)
    y = Sequences.from_lists(((x + rule) % 5).tolist(), 5)
    return Task(name, DIGITS, Sequences.from_lists(x.tolist(), 5), y, primitives)


def toy_tasks(kind: str = "classification", *, compositional: bool = False, size: int = 40) -> TaskSet:
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


def toy_config(method: str = "tam", **values: Any) -> Config:
    return Config.from_preset("paper", method, **TOY | TOY_BY_METHOD[method] | values)


def ignore(_: Mapping[str, Any]) -> None:
    """A log that keeps nothing."""


def train_in(
    folder: Path, config: Config | None = None, tasks: TaskSet | None = None, log: Log = ignore
) -> Trainer:
    """Train, by default with the toy config on the toy tasks, in a folder that is made if need be."""
    folder.mkdir(exist_ok=True)
    return train(prepare(config or toy_config(), tasks or toy_tasks()), folder, log)
