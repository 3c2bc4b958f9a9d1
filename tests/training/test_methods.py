"""Every method through the one loop: it learns, follows its seed, stops and goes on, saves and loads."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tam
from tam.config import Config
from tam.tasks.taskset import TaskSet
from tam.training.checkpoint import read_tensors
from tam.training.loop import DivergedError, Trainer, checkpoint_file, train

MakeTasks = Callable[..., TaskSet]
MakeConfig = Callable[..., Config]

LEARNS: dict[str, dict[str, Any]] = {
    "agnostic": {"steps": 60, "adapt_steps": (10, 30), "adapt_rates": (0.02,)},
    "multitask": {"steps": 100, "adapt_steps": (10, 30), "adapt_rates": (0.02,)},
    "maml": {"steps": 120, "adapt_steps": (5, 20), "adapt_rates": (0.1, 0.3), "inner_rate": 0.3},
    "cavia": {"steps": 100, "adapt_steps": (5, 20), "adapt_rates": (1.0, 3.0), "inner_rate": 3.0},
}
METHODS = pytest.mark.parametrize("method", LEARNS)
FORMS = pytest.mark.parametrize("form", ["classification", "transduction", "compositional"])


def ignore(_: Mapping[str, Any]) -> None:
    """A log that nobody reads."""


@METHODS
def test_it_learns(method: str, toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path) -> None:
    """Better than chance, one in three, and than its own untrained self."""
    larger: dict[str, Any] = {"width": 16, "tasks": 6, "rows": 32, "rate": 0.02, "shots": (4,), "queries": 20}
    config = toy_config(method, **larger | LEARNS[method] | {"validate_every": 1000})
    if method in ("maml", "cavia"):
        config = config.override(support_sizes=(12, 12), inner_steps=3)
    tasks = toy_tasks(size=80)
    (before,) = Trainer(config, tasks, tmp_path).validate()
    trainer = train(config, tasks, tmp_path, ignore)
    (after,) = trainer.validate()
    print(method, before.accuracy, after.accuracy, before.perplexity, after.perplexity, after.choice)
    assert after.accuracy > before.accuracy + 0.1
    assert after.accuracy > 0.6
    assert after.perplexity < before.perplexity
