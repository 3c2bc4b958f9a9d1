"""A run: config and seed → a folder of `config.json`, `metrics.jsonl`, `model.safetensors`, `result.json`."""

import math
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

import tam
from tam.config.config import Config, differing
from tam.errors import UserError, shown
from tam.evaluation.protocol import KShotScore, evaluate, score
from tam.io import exists, finite, read_json
from tam.methods import METHODS, make_method
from tam.models import Model, build_model, place_model
from tam.provenance import now, provenance
from tam.tasks.benchmark import BenchmarkOptions, Progress, make
from tam.tasks.jsonl import TasksFileError, read_tasks
from tam.tasks.taskset import TaskSet
from tam.training import distribution
from tam.training.checkpoint import load_weights, read_tensors, write_json
from tam.training.checks import (
    check_config,
    check_device,
    check_examples,
    check_integers,
    check_settings,
    check_tasks,
    known_primitives,
    spec_of,
)
from tam.training.folder import Log, best_file, check_free, checkpoint_file, writing_to
from tam.training.loop import train
from tam.training.result import checked_result


def load_tasks(
    source: Mapping[str, Any], progress: Progress | None = None, file: Path | None = None
) -> TaskSet:
    """The task set that a config names: a benchmark's options, or the `path` of a file.

    `file` is that of the config, where there is one: an error in what it says of the tasks names it.
    """
    try:
        return _named_tasks(source, progress)
    except TasksFileError:  # which names a file of its own
        raise
    except UserError as error:
        raise error if file is None else UserError(f"{file}: tasks: {error}") from None


def _named_tasks(source: Mapping[str, Any], progress: Progress | None) -> TaskSet:
    if "path" in source:
        expected = {"path": str, "splits": str, "seed": int}
        for name, value in source.items():
            if name not in expected:
                raise UserError(f"tasks from a file have path, splits and seed, not {name!r}")
            if (value is not None or name == "path") and type(value) is not expected[name]:
                raise UserError(f"{name} of tasks is of type {expected[name].__name__}, not {value!r}")
        return read_tasks(source["path"], splits=source.get("splits"), seed=source.get("seed"))
    if "name" not in source:
        raise UserError(
            f"tasks have the name of a benchmark or the path of a file, not {shown(dict(source))}"
        )
    known = [option.name for option in fields(BenchmarkOptions)]
    if unknown := [name for name in source if name not in known]:
        raise UserError(f"a benchmark has {', '.join(known)}, not {unknown[0]!r}")
    return make(BenchmarkOptions(**source), progress=progress)


def read_config(path: Path) -> tuple[Config, dict[str, Any]]:
    """A config file: the config, and where its tasks come from."""
    values = read_json(path)
    if not isinstance(source := values.pop("tasks", None), dict):
        raise UserError(f"{path}: 'tasks' is an object: a benchmark's options, or the path of a file")
    try:
        return Config.from_json(values), source
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def check(config: Config, tasks: TaskSet) -> None:
    """Raise an error, before a run has a folder, if its settings do not go with the tasks or the machine."""
    check_settings(config, tasks)
    distribution.check_processes(config.device, min(config.training.tasks, len(tasks.train)))
    check_examples(tasks, config.protocol, tasks.test_splits)


def start(folder: Path, config: Config, source: Mapping[str, Any], *, resume: bool) -> None:
    """Make the folder of a new run, or check that there is one to resume; of several processes, one does."""
    if not distribution.is_first():
        return
    file = folder / "config.json"
    if not exists(file):
        check_free(folder)
    if resume:
        if not exists(file):
            raise UserError(f"{folder}: there is no run to resume; leave --resume out to start one")
        written, tasks = read_config(file)
        check_config(config, written.to_json(), file)
        if tasks != dict(source):
            raise UserError(f"{file}: the run there has the tasks {tasks}, not {dict(source)}")
        return
    if exists(file):
        raise UserError(f"{folder} holds a run already: give another folder, or --resume to take it up")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(file, {"tasks": dict(source), **config.to_json()})
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror or error}") from None


def run(config: Config, tasks: TaskSet, folder: Path, log: Log) -> dict[str, Any]:
    """Train in a folder that `start` made, evaluate, and write the result; of a finished run, read it.

    Of several processes the first has the result, and the others have nothing.
    """
    if (result := read_result(folder)) is not None:
        if not distribution.is_first():
            return {}
        check_tasks(tasks, result, folder / "result.json")
        check_config(config, result["config"], folder / "result.json")
        return result
    code = provenance()  # before files can change
    with distribution.process_group(config.device), writing_to(folder):
        trainer = train(config, tasks, folder, log)
        if distribution.rank() != 0:
            return {}
        models = best_models(config, tasks, folder)
        scores = [
            score(trainer.method, models[k], tasks.test, k, best.choice, config.protocol, trainer.primitives)
            for k, best in trainer.state.best.items()
        ]
        steps = {str(k): best.step for k, best in trainer.state.best.items()}
        result = _result(config, tasks, scores, trainer.state.seconds, steps) | code
        write_json(folder / "result.json", result)
        checkpoint_file(folder).unlink(missing_ok=True)
        return result


def read_result(folder: Path) -> dict[str, Any] | None:
    """The result of a finished run; None if it is not finished."""
    file = folder / "result.json"
    if not exists(file):
        return None
    values = read_json(file)
    try:
        return checked_result(values)
    except UserError as error:
        raise UserError(f"{file}: not the result of a run: {error}") from None


def evaluate_run(
    folder: Path, shots: Sequence[int] = (), supports: int | None = None, device: str | None = None
) -> dict[str, Any]:
    """Score a finished run's test tasks anew, with the weights that validated best at each k.

    `device` is where; if not given, where it was trained.
    """
    result = read_result(folder)
    if result is None:
        raise UserError(f"{folder}: there is no finished run here (no result.json)")
    config, source = read_config(folder / "config.json")
    config = config if device is None else config.override(device=device)
    check_device(config.device)
    changes = {"shots": tuple(shots) or None, "supports": supports}
    asked = config.override(**{name: value for name, value in changes.items() if value is not None})
    check_integers(asked)
    tasks = load_tasks(source, file=folder / "config.json")
    check_tasks(tasks, result, folder / "result.json")
    check_examples(tasks, asked.protocol, ("valid", *tasks.test_splits))
    trained = config.protocol.shots
    models = best_models(config, tasks, folder)
    nearest = {
        k: models[min(trained, key=lambda other: abs(math.log(other / k)))] for k in asked.protocol.shots
    }
    method = make_method(config)
    primitives = known_primitives(tasks, config)
    scores = evaluate(method, nearest, tasks.valid, tasks.test, asked.protocol, primitives)
    return result | {"scores": score_table(scores)}


def over_trials(results: Sequence[Mapping[str, Any]], folders: Sequence[Path]) -> dict[str, Any]:
    """One result of several runs that differ in their seed: means, and the standard deviation over runs.

    The intervals of a single run, which are over tasks, stay as they are. Where a run's perplexity is
    infinite, so is the mean: None. An error names the folders that the results are of.
    """
    first = results[0]
    folder_of: dict[int, Path] = {}
    for folder, other in zip(folders, results, strict=True):
        if words := _not_of_seeds(first, other):
            raise UserError(
                f"{folder}: no trial of {folders[0]}, from which it may differ in its seed alone: "
                f"{'; '.join(words)}"
            )
        seed = other["config"]["seed"]
        if seed in folder_of:
            raise UserError(
                f"{folder}: has the seed {seed}, as {folder_of[seed]} has: they are not two trials"
            )
        folder_of[seed] = folder
    if len(results) == 1:
        return dict(first)
    scores = []
    for trials in zip(*(result["scores"] for result in results), strict=True):
        row: dict[str, Any] = {"k": trials[0]["k"], "trials": len(trials)}
        for metric in ("accuracy", "perplexity"):
            values = [trial[metric] for trial in trials]
            known = None not in values
            row[metric] = statistics.mean(values) if known else None
            row[f"{metric}_interval"] = statistics.stdev(values) if known else None
        scores.append(row)
    return dict(first) | {"scores": scores}


def _not_of_seeds(first: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """In what two results differ that are no trials of one another, in words."""
    changes = differing(first["config"], other["config"])
    words = [
        f"{name} is {now!r}, not {before!r}"
        for name, (before, now) in changes.items()
        if name not in ("seed", "device")
    ]
    words += ["its tasks are others"] if first["fingerprint"] != other["fingerprint"] else []
    return words + (["its scores are at other k"] if len(first["scores"]) != len(other["scores"]) else [])


def best_models(config: Config, tasks: TaskSet, folder: Path) -> dict[int, Model]:
    """For every k the model that validated best at it."""
    models: dict[int, Model] = {}
    for k in config.protocol.shots:
        model = build_model(spec_of(tasks, config), torch.Generator().manual_seed(0))
        place_model(model, config.device, config.training.precision)
        load_weights(model, read_tensors(best_file(folder, k))[0], best_file(folder, k))
        models[k] = model
    return models


def score_table(scores: list[KShotScore]) -> list[dict[str, Any]]:
    """Scores as plain values: None for an infinite perplexity, and for the interval of a single task."""
    return [
        {
            "k": one.k,
            "accuracy": one.accuracy,
            "accuracy_interval": finite(one.interval("accuracy")),
            "perplexity": finite(one.perplexity),
            "perplexity_interval": finite(one.interval("perplexity")),
            "steps": one.choice.steps,
            "rate": one.choice.rate,
            "tasks": len(one.tasks),
        }
        for one in scores
    ]


def _result(
    config: Config, tasks: TaskSet, scores: list[KShotScore], seconds: float, best_steps: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "method": config.method,
        "version": METHODS[config.method].version,
        "kind": tasks.kind,
        "tasks": dict(tasks.options),
        "fingerprint": tasks.fingerprint,
        "config": config.to_json(),
        "scores": score_table(scores),
        "best_steps": dict(best_steps),
        "parameters": sum(
            p.numel() for p in build_model(spec_of(tasks, config), torch.Generator()).parameters()
        ),
        "seconds": round(seconds, 1),
        "device": device_name(config.device),
        "torch": torch.__version__,
        "tam": tam.__version__,
        "finished": now(),
    }


def device_name(device: str) -> str:
    """What the device is called."""
    return platform.machine() if device == "cpu" else torch.cuda.get_device_name(device)
