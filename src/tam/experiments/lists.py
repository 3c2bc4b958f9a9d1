"""List functions: the published scores of a prior on a third-party benchmark.

`python -m tam.experiments.lists DATA --prior` trains on the tasks of a folder and on generated ones, scores
its test tasks and writes `results/own/NAME.json`. It needs only torch, numpy and safetensors.

The protocol is that of Qiu et al., Phenomenal Yet Puzzling, 2023: a task is learned from its examples 1 to 8,
and tested on its examples 17 to 24.
"""

import argparse
import json
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tam.config.config import Config
from tam.errors import UserError
from tam.experiments.results import short_hash
from tam.io import path_of
from tam.tasks.jsonl import read_tasks
from tam.tasks.task import Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.training.checkpoint import write_json
from tam.training.log import TrainingLog
from tam.training.preflight import prepare, real_device
from tam.training.run import load_tasks, run, start

SUPPORT, QUERIES = 8, slice(16, 24)

_SETTINGS: dict[str, Any] = {
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
    "starts": 8,
    "support": "mixed",
    "small_share": 0.6,
    "small_after": 300,
    "small_sizes": (6, 12),
    "adapt_steps": (0, 1, 2, 5, 12, 25, 50, 100),
    "adapt_rates": (0.03, 0.1),
}
"""TAM's changes to the preset quick, for a GPU; most of its eight searches start at the z of other tasks."""

ON_CPU: dict[str, Any] = {
    "layers": 2,
    "width": 64,
    "task_tokens": 1,
    "task_first": False,
    "tasks": 16,
    "rows": 16,
    "rate": 2e-3,
    "warmup": 20,
    "inner_steps": 4,
    "starts": 1,
    "small_after": 0,
    "adapt_steps": (1, 5, 12, 25, 50, 100),
    "adapt_rates": (0.1,),
}
"""Further changes, for a CPU."""


def with_protocol(tasks: TaskSet) -> TaskSet:
    """Give validation and test tasks their fixed supports and queries."""
    splits = {
        split: members if split == "train" else tuple(map(_fixed, members))
        for split, members in tasks.splits.items()
    }
    return TaskSet(splits, tasks.vocabulary, tasks.options)


def _fixed(task: Task) -> Task:
    rows = np.r_[:SUPPORT, QUERIES]
    if len(task) < QUERIES.stop or not isinstance(task.y, Sequences):
        raise UserError(
            f"task {task.name!r} must have sequences as answers, and at least {QUERIES.stop} examples"
        )
    x, y = (Sequences(part.ids[rows], part.lengths[rows]) for part in (task.x, task.y))
    return replace(task, x=x, y=y, support=SUPPORT)


def settings_for(method: str, seconds: float, device: str, seed: int, **values: Any) -> Config:
    """The settings of a run that trains for at most this many seconds."""
    most = round(seconds * (2 if device == "cpu" else 40))  # too many, so that the time ends the run
    timing = {"steps": most, "max_seconds": seconds, "validate_every": most // 4, "checkpoint_every": 200}
    chosen = _SETTINGS | (ON_CPU if device == "cpu" else {}) if method == "tam" else {}
    chosen |= {"shots": (SUPPORT,), "supports": 1, "choose_by": "accuracy", "hints": 0, "programs": 0}
    chosen |= {"precision": "float32" if device == "cpu" else "bfloat16"} | timing | values
    return Config.from_preset("quick", method, "own tasks", seed=seed, device=device, **chosen)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tam.experiments.lists", description=__doc__)
    parser.add_argument("data", help="the folder of the tasks")
    parser.add_argument("--method", default="tam")
    parser.add_argument("--prior", action="store_true", help="also train on generated lists")
    parser.add_argument("--prior-tasks", type=int, default=2_000)
    parser.add_argument("--seconds", type=int, default=200, help="of training and validation")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--settings", type=json.loads, default={}, help="further settings, as JSON")
    parser.add_argument("--name", help="of the result; by default made from the options")
    parser.add_argument("--results", default="results/own")
    parser.add_argument("--runs", default="runs/own")
    try:
        _run(parser.parse_args())
    except UserError as error:
        sys.exit(f"error: {error}")


def _run(options: argparse.Namespace) -> None:
    name = options.name or default_name(options)
    folder = path_of(options.runs, "--runs") / name
    results = path_of(options.results, "--results")
    file = folder.with_name(f"{name}.jsonl")
    file.parent.mkdir(parents=True, exist_ok=True)
    with_protocol(read_tasks(options.data)).write(file)
    source: dict[str, Any] = {"path": str(file.resolve())}
    if options.prior:
        source["prior"] = {"generator": "lists", "tasks": options.prior_tasks, "seed": 0}
    config = settings_for(
        options.method, options.seconds, real_device(options.device), options.seed, **options.settings
    )
    setup = prepare(config, load_tasks(source))
    start(folder, setup.config, source, resume=(folder / "config.json").exists())
    with TrainingLog(config.training.steps, config.training.max_seconds) as log:
        result = run(setup, folder, log)
    if not result:
        return  # another process of this run writes the result
    facts = {
        "tasks": {**result["tasks"], "path": path_of(options.data).resolve().name},
        "command": _command(options),
        "curve": _validations(folder),
        "load": round(os.getloadavg()[1], 1),
    }
    results.mkdir(parents=True, exist_ok=True)
    write_json(results / f"{name}.json", {**result, **facts})
    for score in result["scores"]:
        print(f"k = {score['k']}: exact match {score['accuracy']:.3f} ± {score['accuracy_interval']:.3f}")


def default_name(options: argparse.Namespace) -> str:
    """A name that no run of another method, prior, seed or settings has."""
    prior = f"-prior{options.prior_tasks}" if options.prior else ""
    chosen = f"-{short_hash(options.settings)}" if options.settings else ""
    return f"list_functions-{options.method}{prior}{chosen}-{options.seed}"


def _command(options: argparse.Namespace) -> str:
    """The command that repeats the run, with only the last name of the data's path."""
    words = ["python", "-m", "tam.experiments.lists", path_of(options.data).resolve().name]
    if options.prior:
        words += ["--prior", "--prior-tasks", str(options.prior_tasks)]
    for option in ("method", "seconds", "device", "seed"):
        words += [f"--{option}", f"{getattr(options, option)}"]
    words += ["--settings", json.dumps(options.settings)] if options.settings else []
    return shlex.join([*words, *(["--name", options.name] if options.name else [])])


def _validations(folder: Path) -> list[dict[str, Any]]:
    """The records of a run's validations."""
    with (folder / "metrics.jsonl").open(encoding="utf-8") as lines:
        return [record for record in map(json.loads, lines) if "valid" in record]


if __name__ == "__main__":
    main()
