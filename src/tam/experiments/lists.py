"""List functions: the published scores of a prior on tasks that nobody here made.

`python -m tam.experiments.lists DATA --prior` trains on the tasks of a folder and on generated ones, scores
its test tasks and writes `results/own/NAME.json`. It needs only torch, numpy and safetensors.

The protocol is that of Qiu et al., Phenomenal Yet Puzzling, 2023: a task is learned from its examples 1 to 8,
and asked its examples 17 to 24.
"""

import argparse
import json
import shlex
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from tam.cli.exit import command
from tam.config.config import Config
from tam.errors import UserError
from tam.io import path_of
from tam.tasks.jsonl import read_tasks
from tam.tasks.task import Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.training.checkpoint import write_json
from tam.training.log import TrainingLog
from tam.training.preflight import prepare, real_device
from tam.training.run import load_tasks, run, start

SHOTS, QUERIES = 8, slice(16, 24)

SETTINGS: dict[str, dict[str, Any]] = {
    "tam": {
        "layers": 4,
        "width": 128,
        "heads": 4,
        "task_tokens": 2,
        "task_first": True,
        "tasks": 64,
        "rows": 32,
        "rate": 1e-3,
        "warmup": 100,
        "inner_steps": 12,
        "inner_rate": 0.1,
        "warm_share": 0.0,
        "proposer": True,
        "support": "mixed",
        "small_share": 0.6,
        "small_after": 300,
        "small_sizes": (6, 12),
        "adapt_steps": (0, 1, 2, 3, 5, 8, 12, 18, 25, 50, 100),
        "adapt_rates": (0.01, 0.03, 0.1),
    },
    "snail": {
        "layers": 6,
        "width": 256,
        "heads": 8,
        "x_mask": "full",
        "tasks": 64,
        "rows": 32,
        "rate": 5e-4,
        "warmup": 500,
    },
}
"""What is not as in the preset quick."""


def with_protocol(tasks: TaskSet) -> TaskSet:
    """The same with the fixed supports and queries of validation and test tasks."""
    splits = {
        split: members if split == "train" else tuple(map(_fixed, members))
        for split, members in tasks.splits.items()
    }
    return TaskSet(splits, tasks.vocabulary, tasks.options)


def _fixed(task: Task) -> Task:
    rows = np.r_[:SHOTS, QUERIES]
    if len(task) < QUERIES.stop or not isinstance(task.y, Sequences):
        raise UserError(
            f"task {task.name!r} must have sequences as answers, and at least {QUERIES.stop} examples"
        )
    x, y = (Sequences(part.ids[rows], part.lengths[rows]) for part in (task.x, task.y))
    return replace(task, x=x, y=y, support=SHOTS)


def settings_for(method: str, seconds: float, device: str, seed: int, **values: Any) -> Config:
    """The settings of a run that trains for so many seconds, and is validated about five times."""
    timing = {"steps": 1_000_000, "max_seconds": seconds, "checkpoint_every": 200}
    chosen = (
        SETTINGS.get(method, {})
        | {"shots": (SHOTS,), "supports": 1, "choose_by": "accuracy"}
        | timing
        | values
    )
    precision = "float32" if device == "cpu" else "bfloat16"
    chosen = {"precision": precision, "validate_every": 1_000, **chosen}
    return Config.from_preset("quick", method, "own tasks", seed=seed, device=device, **chosen)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tam.experiments.lists", description=__doc__)
    parser.add_argument("data", help="the folder of the tasks")
    parser.add_argument("--method", default="tam")
    parser.add_argument("--prior", action="store_true", help="train on generated lists besides")
    parser.add_argument("--prior-tasks", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=200, help="of training and validation")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--settings", type=json.loads, default={}, help="others, as JSON")
    parser.add_argument("--name", help="of the result; by default what was chosen")
    parser.add_argument("--results", default="results/own")
    parser.add_argument("--runs", default="runs/own")
    with command():
        _run(parser.parse_args())


def _run(asked: argparse.Namespace) -> None:
    prior = f"-prior{asked.prior_tasks}" if asked.prior else ""
    name = asked.name or f"list_functions-{asked.method}{prior}-{asked.seed}"
    folder = path_of(asked.runs, "--runs") / name
    results = path_of(asked.results, "--results")
    file = folder.with_name(f"{name}.jsonl")
    file.parent.mkdir(parents=True, exist_ok=True)
    with_protocol(read_tasks(asked.data)).write(file)
    source: dict[str, Any] = {"path": str(file.resolve())}
    if asked.prior:
        source["prior"] = {"generator": "lists", "tasks": asked.prior_tasks, "seed": 0}
    config = settings_for(
        asked.method, asked.seconds, real_device(asked.device), asked.seed, **asked.settings
    )
    setup = prepare(config, load_tasks(source))
    start(folder, setup.config, source, resume=(folder / "config.json").exists())
    with TrainingLog(config.training.steps, config.training.max_seconds) as log:
        result = run(setup, folder, log)
    words = shlex.join(["python", "-m", "tam.experiments.lists", *sys.argv[1:]])
    curve = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    curve = [record for record in curve if "valid" in record]
    results.mkdir(parents=True, exist_ok=True)
    write_json(results / f"{name}.json", {**result, "command": words, "valid": curve})
    for score in result["scores"]:
        print(f"k = {score['k']}: exact match {score['accuracy']:.3f} ± {score['accuracy_interval']:.3f}")


if __name__ == "__main__":
    main()
