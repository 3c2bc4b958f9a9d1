"""Whether settings, tasks and machine go together, and the model that follows from them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from tam.config.config import Config
from tam.config.methods import SmallSupports
from tam.config.sections import Protocol
from tam.errors import SettingError, UserError, shown
from tam.evaluation.protocol import episodes
from tam.methods import METHODS, make_method
from tam.models import ModelSpec
from tam.tasks.composition import PrimitivesError, unknown_slot
from tam.tasks.task import Sequences
from tam.tasks.taskset import TaskSet


def known_primitives(tasks: TaskSet, config: Config) -> dict[str, int] | None:
    """The ids of the primitives that the model knows: those of the training tasks; None if it uses none."""
    asked = config.network.use_primitives
    if asked is None:
        asked = config.settings.takes_primitives and bool(tasks.primitives)
    if not asked:
        return None
    if not tasks.primitives:
        raise SettingError("use_primitives needs tasks with primitives, and these have none")
    seen = (name for name in tasks.primitives if name not in tasks.unseen_primitives)
    return {name: number for number, name in enumerate(seen)}


def spec_of(tasks: TaskSet, config: Config) -> ModelSpec:
    """The model that fits these tasks."""
    check_integers(config)
    method = make_method(config)
    if method.classification_only and tasks.kind != "classification":
        others = ", ".join(name for name, other in METHODS.items() if not other.classification_only)
        raise UserError(
            f"{config.method} is for classification only, and the answers of these tasks are sequences; "
            f"methods for those: {others}"
        )
    primitives = known_primitives(tasks, config)
    network = config.network
    y = [task.y.lengths.max(initial=0) for task in tasks if isinstance(task.y, Sequences)]
    if not len(tasks.vocabulary):
        raise UserError("there is no token in any input of these tasks: there is nothing to tell them apart")
    if primitives is None and getattr(config.settings, "unknown_share", None) is not None:
        raise SettingError("unknown_share has no effect on tasks without primitives; leave it out")
    try:
        spec = ModelSpec(
            kind=tasks.kind,
            vocabulary=len(tasks.vocabulary),
            classes=tasks.n_classes,
            max_x=max(int(task.x.lengths.max(initial=0)) for task in tasks),
            max_y=max(1, *map(int, y)) if y else 0,
            primitives=len(primitives or ()),
            slots=len(tasks.train[0].primitives) if primitives else 0,
            backbone=network.backbone,
            conditioning=network.conditioning,
            layers=network.layers,
            width=network.width,
            heads=network.heads,
            bottleneck=network.bottleneck,
            task_tokens=network.task_tokens,
            task_first=network.task_first,
            x_mask=network.x_mask,
        )
        return method.spec(spec, len(tasks.train))
    except ValueError as error:  # settings that do not go with these tasks
        raise UserError(str(error)) from None


def check_integers(config: Config) -> None:
    """Raise an error unless every integer is one that tensors can hold, and floats."""
    for section in (config.network, config.settings, config.training, config.protocol):
        for name, value in vars(section).items():
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, int) and abs(number) >= 2**63:
                    raise SettingError(f"{name} is below 2^63, not {shown(value)}")


def check_settings(config: Config, tasks: TaskSet) -> ModelSpec:
    """The model of a run; an error if the settings do not go with these tasks or this machine."""
    if config.device == "cpu" and config.training.precision == "bfloat16":
        raise SettingError("precision bfloat16 is for GPUs: give device cuda, or precision float32")
    check_device(config.device)
    spec = spec_of(tasks, config)
    check_effects(config, tasks)
    if (primitives := known_primitives(tasks, config)) is not None:
        check_primitives(tasks, primitives)
    rows = min(config.training.rows, max(map(len, tasks.train)))
    make_method(config).check_rows(rows, config.protocol.shots[0], tasks.n_classes)
    check_examples(tasks, config.protocol, ("valid",))
    return spec


def check_effects(config: Config, tasks: TaskSet) -> None:
    """Raise an error if a setting has no effect on a run with these tasks, or with the other settings."""
    settings, training = config.settings, config.training
    told_nothing = config.network.use_primitives is False and settings.takes_primitives
    if told_nothing and not tasks.primitives:
        raise SettingError("use_primitives has no effect on tasks without primitives; leave it out")
    small: SmallSupports | None = getattr(settings, "small", None)
    if small is not None and 0 < training.steps <= small.after:
        default = "" if getattr(settings, "small_after", None) is not None else " (the default)"
        raise SettingError(
            f"small_after is below the {training.steps} steps of the run, not {small.after}{default}: "
            "before, support 'mixed' has no effect; give a smaller small_after, or more steps"
        )
    queries = getattr(settings, "episode_queries", None)
    if queries is None or queries == getattr(type(settings), "episode_queries", None):
        return
    support = max(tasks.n_classes, 1) * config.protocol.shots[0]
    if queries > (most := training.rows - support) > 0:
        raise SettingError(
            f"episode_queries is at most {most}, not {queries}: {training.rows} rows have no more beside the "
            f"{support} examples of a support"
        )


def check_device(device: str) -> None:
    """Raise an error unless the device is here."""
    if device == "cpu":
        return
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not gpus:
        raise SettingError(f"device is {device!r}, but torch finds no GPU here")
    _, colon, place = device.partition(":")
    if colon and place not in map(str, range(gpus)):
        raise SettingError(f"device is {device!r}, but the GPUs here are cuda:0 to cuda:{gpus - 1}")


def check_primitives(tasks: TaskSet, primitives: Mapping[str, int]) -> None:
    """Raise an error unless tasks have as many primitives each, and those to be learned one unseen."""
    slots, file = len(tasks.train[0].primitives), _file_of(tasks)
    for task in tasks:
        if len(task.primitives) != slots:
            raise UserError(
                f"{file}task {task.name!r} has {len(task.primitives)} primitives, and task "
                f"{tasks.train[0].name!r} has {slots}: give all tasks as many"
            )
    for task in (task for name, some in tasks.splits.items() if name != "train" for task in some):
        try:
            unknown_slot(f"{file}task {task.name!r}, not for training", task.primitives, primitives)
        except PrimitivesError as error:
            raise UserError(f"{error}; change its primitives, or set use_primitives to False") from None


def check_examples(tasks: TaskSet, protocol: Protocol, splits: Iterable[str]) -> None:
    """Raise an error unless the tasks of these splits have examples for all k, and to be asked."""
    for split in splits:
        try:
            episodes(tasks.splits[split], max(protocol.shots), protocol)
        except UserError as error:
            raise UserError(f"{_file_of(tasks)}{split} {error}") from None


def _file_of(tasks: TaskSet) -> str:
    """The file of tasks that were read from one, as an error begins."""
    return f"{tasks.options['path']}: " if "path" in tasks.options else ""


def check_tasks(tasks: TaskSet, written: Mapping[str, Any], path: Path) -> None:
    """Raise an error if what stands in a file was made with other tasks."""
    if (before := written.get("fingerprint")) not in (None, tasks.fingerprint):
        raise UserError(
            f"{path}: the run there has tasks with the fingerprint {before}, and these have "
            f"{tasks.fingerprint}: give it the tasks it started with, or start anew in another folder"
        )


def check_config(config: Config, written: Mapping[str, Any] | None, path: Path) -> None:
    """Raise an error if what stands in a file was made with other settings."""
    if written is not None and not isinstance(written, dict):
        raise UserError(f"{path}: its config is an object, not {shown(written)}")
    if written is not None and (changes := config.differences(written)):
        raise UserError(
            f"{path}: the run there has other settings: {'; '.join(changes)}: resume it without changing "
            "any, or start anew in another folder"
        )
