"""A run: config and seed → a folder of `config.json`, `metrics.jsonl`, `model.safetensors`, `result.json`."""

import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

import tam
from tam.config.config import Config, differing
from tam.config.sections import Protocol
from tam.errors import UserError
from tam.evaluation.protocol import KShotScore, score
from tam.io import exists, finite, read_json
from tam.methods import METHODS, make_method
from tam.models.token_ids import TokenIds
from tam.provenance import now, provenance
from tam.tasks.benchmark import BenchmarkOptions, Progress, make
from tam.tasks.jsonl import read_tasks
from tam.tasks.jsonl_schema import TasksFileError
from tam.tasks.task import Task
from tam.tasks.taskset import TaskSet
from tam.training import distribution
from tam.training.checkpoint import write_json
from tam.training.folder import Log, check_free, checkpoint_file, writing_to
from tam.training.loop import train
from tam.training.preflight import Setup, check_device, check_examples, check_same
from tam.training.result import checked_result
from tam.training.saved import Saved
from tam.training.trainer import Trainer


def load_tasks(
    source: Mapping[str, Any], progress: Progress | None = None, file: Path | None = None
) -> TaskSet:
    """The task set that a config names: a benchmark's options, or the `path` of a file.

    An error in what a config file says of the tasks begins with that `file`.
    """
    try:
        return _named_tasks(source, progress)
    except TasksFileError:  # which names a file of its own
        raise
    except UserError as error:
        raise error if file is None else UserError(f"{file}: tasks: {error}") from None


def _named_tasks(source: Mapping[str, Any], progress: Progress | None) -> TaskSet:
    if "path" not in source and "name" not in source:
        raise UserError(f"tasks must have the name of a benchmark or the path of a file: got {dict(source)}")
    from_file = "path" in source
    known = ["path", "splits", "seed"] if from_file else [option.name for option in fields(BenchmarkOptions)]
    if unknown := [name for name in source if name not in known]:
        raise UserError(f"tasks must have only {', '.join(known)}: got {unknown[0]!r}")
    if from_file:
        return read_tasks(source["path"], splits=source.get("splits"), seed=source.get("seed"))
    return make(BenchmarkOptions(**source), progress=progress)


def read_config(path: Path) -> tuple[Config, dict[str, Any]]:
    """A config file: the config, and where its tasks come from."""
    values = read_json(path)
    if not isinstance(source := values.pop("tasks", None), dict):
        raise UserError(f"{path}: tasks must be an object with the name of a benchmark or a path")
    try:
        return Config.from_json(values), source
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def start(folder: Path, config: Config, source: Mapping[str, Any], *, resume: bool) -> None:
    """Make the folder of a new run, or check that there is one to resume; of several processes, one does."""
    if not distribution.is_first():
        return
    file = folder / "config.json"
    if exists(file):
        if not resume:
            raise UserError(f"{folder} holds a run already: give another folder, or --resume to continue it")
        written, tasks = read_config(file)
        if changes := config.differences(written.to_json()):
            raise UserError(f"{file}: the run there has other settings: {'; '.join(changes)}")
        if tasks != dict(source):
            raise UserError(f"{file}: the run there has the tasks {tasks}, not {dict(source)}")
        return
    check_free(folder)
    if resume:
        raise UserError(f"{folder}: there is no run to resume; leave --resume out to start one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(file, {"tasks": dict(source), **config.to_json()})
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror or error}") from None


def run(setup: Setup, folder: Path, log: Log) -> dict[str, Any]:
    """Train in a folder that `start` made, evaluate, and write the result; read it if the run is finished.

    Of several processes, the first returns the result and the others an empty dict.
    """
    if (result := read_result(folder)) is not None:
        check_same(setup, result, folder / "result.json")
        return result if distribution.is_first() else {}
    code = provenance()  # before files can change
    with distribution.process_group(setup.config.device), writing_to(folder):
        trainer = train(setup, folder, log)
        if distribution.rank() != 0:
            return {}
        result = _result(trainer) | code
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
    """Score a finished run's test tasks again, perhaps at other k, with other supports, on another device.

    As `tam.load(folder).evaluate` does: with the weights and the choice of the nearest k of the run.
    """
    if (result := read_result(folder)) is None:
        what = "finished run here (no result.json)" if exists(folder) else "such folder"
        raise UserError(f"{folder}: there is no {what}")
    config, source = read_config(folder / "config.json")
    changes = {"shots": tuple(shots) or None, "supports": supports, "device": device}
    asked = config.override(**{name: value for name, value in changes.items() if value is not None})
    check_device(asked.device)
    tasks = load_tasks(source, file=folder / "config.json")
    saved = Saved.read(folder, asked.device)
    if result["fingerprint"] != tasks.fingerprint:
        raise UserError(f"{folder}: the run there has other tasks: give it the tasks it started with")
    for split in tasks.test_splits:
        check_examples(tasks, asked.protocol, split)
    return result | {"scores": _scores(saved, asked.protocol, tasks.test)}


def _scores(saved: Saved, protocol: Protocol, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """The scores of tasks at each k, as plain values."""
    method = make_method(saved.config)
    tasks = TokenIds(saved.model.spec, saved.vocabulary).tasks(tasks)
    found: list[KShotScore] = []
    for k in protocol.shots:
        model, choice = saved.at(k)
        found.append(score(method, model, tasks, k, choice, protocol, saved.primitives))
    return score_table(found)


def over_trials(results: Sequence[Mapping[str, Any]], folders: Sequence[Path]) -> dict[str, Any]:
    """One result of several runs that differ in their seed: means, and the standard deviation over runs.

    A single run keeps its intervals, which are over tasks. Where a run's perplexity is infinite, so is the
    mean: None. `folders` are those of the results, for errors.
    """
    first = results[0]
    folder_of: dict[int, Path] = {}
    for folder, other in zip(folders, results, strict=True):
        if words := _other_than_seed(first, other):
            raise UserError(f"{folder} must differ from {folders[0]} in its seed alone: {'; '.join(words)}")
        seed = other["config"]["seed"]
        if seed in folder_of:
            raise UserError(f"{folder} must have a seed of its own: it has {seed}, as {folder_of[seed]} has")
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


def _other_than_seed(first: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """How two results differ, besides in seed and device, in words."""
    words = [
        f"{name} is {now!r}, not {before!r}"
        for name, (before, now) in differing(first["config"], other["config"]).items()
        if name not in ("seed", "device")
    ]
    words += ["its tasks are others"] if first["fingerprint"] != other["fingerprint"] else []
    return words + (["its scores are at other k"] if len(first["scores"]) != len(other["scores"]) else [])


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


def _result(trainer: Trainer) -> dict[str, Any]:
    """What a finished training has found."""
    config, tasks, best = trainer.config, trainer.tasks, trainer.state.best
    return {
        "method": config.method,
        "version": METHODS[config.method].version,
        "kind": tasks.kind,
        "tasks": dict(tasks.options),
        "fingerprint": tasks.fingerprint,
        "config": config.to_json(),
        "scores": _scores(trainer.saved(), config.protocol, tasks.test),
        "best_steps": {str(k): one.step for k, one in best.items()},
        "parameters": sum(parameter.numel() for parameter in trainer.model.parameters()),
        "seconds": round(trainer.state.seconds, 1),
        "device": platform.machine() if config.device == "cpu" else torch.cuda.get_device_name(config.device),
        "torch": torch.__version__,
        "tam": tam.__version__,
        "finished": now(),
    }
