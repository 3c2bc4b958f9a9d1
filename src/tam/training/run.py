"""A run: config and seed → a folder of `config.json`, `metrics.jsonl`, `model.safetensors`, `result.json`."""

import json
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import torch

import tam
from tam.config.config import Config
from tam.config.validate import check_known
from tam.errors import UserError, shown
from tam.io import NUMBER, OBJECT, STRING, Part, check_parts, exists, json_text, number_or_null, read_json
from tam.methods import METHODS
from tam.provenance import now, provenance
from tam.tasks.benchmark import BenchmarkOptions, Progress, make
from tam.tasks.generate import make_generated
from tam.tasks.jsonl import read_tasks
from tam.tasks.jsonl_schema import TasksFileError
from tam.tasks.prior import fitting_options, with_prior
from tam.tasks.task import Kind
from tam.tasks.taskset import TaskSet
from tam.tasks.text import TOKENIZER, tokenizer_named
from tam.training import distribution
from tam.training.checkpoint import write_json
from tam.training.folder import Log, alone_in, check_free, checkpoint_file, writing_to
from tam.training.loop import train_alone
from tam.training.preflight import Setup, check_same
from tam.training.scoring import scores_and_floors
from tam.training.trainer import Trainer

_RESULT = {
    "method": STRING,
    "kind": Part(lambda value: value in get_args(Kind), f"one of {list(get_args(Kind))}"),
    "tasks": OBJECT,
    "fingerprint": STRING,
    "config": OBJECT,
    "scores": Part(lambda value: isinstance(value, list) and bool(value), "a list of scores, one or more"),
}
_SCORE = {
    "k": Part(lambda value: type(value) is int and 1 <= value < 2**31, "an integer of at least 1"),
    "accuracy": NUMBER,
    "accuracy_interval": number_or_null("none"),
    "perplexity": number_or_null("an infinite one"),
    "perplexity_interval": number_or_null("none"),
}


def load_tasks(
    source: Mapping[str, Any], progress: Progress | None = None, file: Path | None = None
) -> TaskSet:
    """The task set that a config names: a benchmark's options, or the `path` of a file, perhaps with a prior.

    If a config `file` is given, errors in its description of the tasks begin with it.
    """
    try:
        if "prior" in source:
            return _with_prior(source, progress)
        return _named_tasks(source, progress)
    except TasksFileError:  # it names its own file
        raise
    except UserError as error:
        raise error if file is None else UserError(f"{file}: tasks: {error}") from None


def _with_prior(source: Mapping[str, Any], progress: Progress | None) -> TaskSet:
    """The user's tasks, with a prior's to train on too: generated, a benchmark's or a file's."""
    prior = source["prior"]
    if not isinstance(prior, dict):
        raise UserError(f"prior must be an object with a generator, a name or a path: got {shown(prior)}")
    if "path" not in source:
        raise UserError("a prior is for your own tasks: a benchmark must have none")
    tasks = _named_tasks({name: value for name, value in source.items() if name != "prior"}, progress)
    if "generator" in prior:
        return with_prior(tasks, make_generated(fitting_options(tasks, prior), progress=progress))
    return with_prior(tasks, _named_tasks(prior, progress))


def _named_tasks(source: Mapping[str, Any], progress: Progress | None) -> TaskSet:
    if "path" in source:
        check_known(
            source, ("path", "splits", "seed", "fold", "text", "kind", "columns"), "tasks of a file have"
        )
        return read_tasks(**source)
    if "name" not in source:
        raise UserError(f"tasks must have the name of a benchmark or the path of a file: got {dict(source)}")
    return make(BenchmarkOptions.of(source), progress=progress)


def read_config(path: Path) -> tuple[Config, dict[str, Any]]:
    """Read a config file: the config, and where its tasks come from.

    A tokenizer that is gone is replaced by the copy beside the file.
    """
    values = read_json(path)
    if not isinstance(source := values.pop("tasks", None), dict):
        raise UserError(f"{path}: tasks must be an object with the name of a benchmark or a path")
    text, copy = source.get("text"), path.with_name(TOKENIZER).absolute()
    if text not in (None, "characters", "words") and tokenizer_named(text) is None and exists(copy):
        source["text"] = str(copy)
    try:
        return Config.from_json(values), source
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def check_new(folder: Path) -> None:
    """Raise an error if a folder holds a run."""
    if exists(folder / "config.json"):
        raise UserError(f"{folder} holds a run already: give another folder, or --resume to continue it")
    check_free(folder)


def start(folder: Path, config: Config, source: Mapping[str, Any], *, resume: bool) -> None:
    """Make the folder of a new run, or check the one to resume; of several processes, only the first does."""
    if not distribution.is_first():
        return
    file = folder / "config.json"
    if not resume:
        check_new(folder)
    if exists(file):
        written, tasks = read_config(file)
        if changes := config.differences(written.to_json()):
            plan = folder / "plan.json"
            minutes = f" and --minutes {read_json(plan).get('minutes')}" if exists(plan) else ""
            raise UserError(f"{file}: the run there has other settings{minutes}: {'; '.join(changes)}")
        if tasks != dict(source):
            raise UserError(f"{file}: the run there has the tasks {tasks}, not {dict(source)}")
        return
    check_free(folder)
    if resume:
        raise UserError(f"{folder}: there is no run to resume; leave --resume out to start one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (tokenizer := tokenizer_named(source.get("text"))) is not None:
            shutil.copyfile(tokenizer, folder / TOKENIZER)  # makes the folder self-contained
        write_json(file, {"tasks": dict(source), **config.to_json()})
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror or error}") from None


def run(setup: Setup, folder: Path, log: Log) -> dict[str, Any]:
    """Train in a folder that `start` made, evaluate, and write the result; read it if the run is finished.

    Of several processes, the first returns the result and the others an empty dict.
    """
    if (result := _finished(setup, folder)) is not None:
        return result if distribution.is_first() else {}
    with distribution.process_group(setup.config.device), writing_to(folder), alone_in(folder):
        return run_alone(setup, folder, log)


def run_alone(setup: Setup, folder: Path, log: Log) -> dict[str, Any]:
    """Run as `run` does, in a folder that the caller has locked."""
    if distribution.world_size() == 1 and (result := _finished(setup, folder)) is not None:
        return result  # another process has finished it meanwhile
    code = provenance()  # before files can change
    trainer = train_alone(setup, folder, log)
    if distribution.rank() != 0:
        return {}
    result = {**_result(trainer), **code}
    write_json(folder / "result.json", result)
    scores = {
        str(score["k"]): {name: score[name] for name in ("accuracy", "perplexity")}
        for score in result["scores"]
    }
    log({"step": trainer.state.step, "test": scores})
    checkpoint_file(folder).unlink(missing_ok=True)
    return result


def _finished(setup: Setup, folder: Path) -> dict[str, Any] | None:
    """The result if the run is finished, else None; raise an error if it is another run's."""
    if (result := read_result(folder)) is not None:
        check_same(setup, result, folder / "result.json")
    return result


def read_result(folder: Path) -> dict[str, Any] | None:
    """The result of a finished run, its config with every setting; None if it is not finished."""
    file = folder / "result.json"
    if not exists(file):
        return None
    values = read_json(file)
    try:
        check_parts(values, _RESULT)
        for place, score in enumerate(values["scores"]):
            if not isinstance(score, dict):
                raise UserError(f"scores[{place}] must be an object: got {shown(score)}")
            check_parts(score, _SCORE, f"scores[{place}].")
        config = Config.from_json(values["config"])
    except UserError as error:
        raise UserError(f"{file}: not the result of a run: {error}") from None
    return {**values, "config": json.loads(json_text(config.to_json()))}


def _result(trainer: Trainer) -> dict[str, Any]:
    """The result of a finished training."""
    config, tasks, best = trainer.config, trainer.tasks, trainer.state.best
    splits = {split: tasks.splits[split] for split in tasks.test_splits}
    return {
        "method": config.method,
        "version": METHODS[config.method].version,
        "kind": tasks.kind,
        "tasks": dict(tasks.options),
        "fingerprint": tasks.fingerprint,
        "config": config.to_json(),
        **scores_and_floors(trainer.saved(), config.protocol, splits),
        "best_steps": {str(k): one.step for k, one in best.items()},
        "parameters": sum(parameter.numel() for parameter in trainer.model.parameters()),
        "seconds": round(trainer.state.seconds, 1),
        "device": platform.machine() if config.device == "cpu" else torch.cuda.get_device_name(config.device),
        "torch": torch.__version__,
        "tam": tam.__version__,
        "finished": now(),
    }
