"""Prepare a run once, before it starts, and check that settings, tasks and machine fit together."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tam.config.config import Config
from tam.config.sections import Protocol
from tam.errors import SettingError, UserError, shown
from tam.evaluation.protocol import episodes
from tam.methods import METHODS, Method, make_method
from tam.models import ModelSpec
from tam.models.encoder import Described, describe
from tam.models.hints import memory_size
from tam.models.spec import hint_tokens
from tam.models.token_ids import TokenIds, training_vocabulary
from tam.tasks.composition import PrimitivesError, unknown_slot
from tam.tasks.lists.search import explain_some
from tam.tasks.task import Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.training import distribution

_NOT_OF_SPEC = ("use_primitives", "mask_tokens", "copy", "encoder", "freeze_encoder", "programs")


@dataclass(frozen=True)
class Setup:
    """A config and its tasks, with the model, the method and the primitive ids that follow from them."""

    config: Config
    tasks: TaskSet
    spec: ModelSpec
    method: Method
    primitives: dict[str, int] | None
    ids: TokenIds
    splits: Mapping[str, tuple[Task, ...]]  # of the tasks, in the model's ids
    notes: tuple[str, ...] = ()
    """Messages for the user before training."""


def prepare(config: Config, tasks: TaskSet, *, with_test: bool = True) -> Setup:
    """Work out what a run needs; raise an error if settings, tasks and machine do not fit together.

    `with_test` says whether the test tasks will be scored, and so need enough examples.
    """
    check_device(config.device)
    notes: list[str] = []
    if config.device == "cpu" and config.training.precision == "bfloat16":
        config = config.override(precision="float32")
        notes.append("precision is float32: bfloat16 needs a GPU")
    distribution.check_processes(config.device, min(config.training.tasks, len(tasks.train)))
    _check_regularisation(config, tasks)
    method = make_method(config)
    primitives = _known_primitives(config, tasks)
    masks = config.network.mask_tokens > 0
    vocabulary, encoder = training_vocabulary(tasks) if masks else tasks.vocabulary, None
    if config.network.encoder is not None:
        encoder = describe(config.network.encoder, frozen=config.network.freeze_encoder)
        vocabulary = encoder.vocabulary
    hints = hint_tokens(tasks.kind, tasks.n_classes, config.network.hints)
    spec = _spec(config, tasks, method, primitives, len(vocabulary) + hints, encoder)
    ids, splits = TokenIds(spec, vocabulary), tasks.splits
    if spec.unknown_tokens:
        splits = {split: ids.tasks(members) for split, members in tasks.splits.items()}
    if primitives is not None:
        check_primitives(tasks, primitives)
    rows = min(config.training.rows, max(map(len, tasks.train)))
    method.check_rows(rows, config.protocol.shots[0], tasks.n_classes)
    for split in ("valid", *(tasks.test_splits if with_test else ())):
        check_examples(tasks, config.protocol, split)
    notes += _unknown_tokens(ids, tasks)
    return Setup(config, tasks, spec, method, primitives, ids, splits, tuple(notes))


def _unknown_tokens(ids: TokenIds, tasks: TaskSet) -> list[str]:
    """Notes on the tokens of each split that the model will not know."""
    notes: list[str] = []
    where = "in no training task" if ids.spec.encoder is None else "not the encoder's"
    for split, members in tasks.splits.items():
        unknown, total = ids.count_unknown(members)
        if split == "train" and ids.spec.encoder is not None and 2 * unknown > total:
            raise UserError(
                f"{unknown} of {total} tokens of the training tasks are not the encoder's: inputs must be "
                "text, or tokens of its tokenizer"
            )
        if unknown:
            notes.append(
                f"{unknown} of {total} tokens of the {split} tasks are {where}: the model reads them as "
                "unknown"
            )
    return notes


def _check_regularisation(config: Config, tasks: TaskSet) -> None:
    dropout, smoothing = config.training.dropout, config.training.label_smoothing
    if dropout and (config.network.encoder or config.network.backbone == "lstm" or config.method == "maml"):
        raise SettingError(f"dropout must be 0 for a text encoder, an LSTM and maml: got {dropout}")
    if smoothing and config.method == "snail" and tasks.kind == "transduction":
        raise SettingError(f"label_smoothing must be 0 for snail on sequences: got {smoothing}")


def real_device(device: str) -> str:
    """Resolve auto: to cuda if there is a GPU, else to cpu."""
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


def check_device(device: str) -> None:
    """Raise an error unless this machine has the device."""
    if device == "cpu":
        return
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not gpus:
        raise SettingError(f"device is {device!r}, but torch finds no GPU here")
    _, colon, place = device.partition(":")
    if colon and place not in map(str, range(gpus)):
        raise SettingError(f"device must be cuda:0 to cuda:{gpus - 1}, the GPUs here: got {device!r}")


def _known_primitives(config: Config, tasks: TaskSet) -> dict[str, int] | None:
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


def _spec(
    config: Config,
    tasks: TaskSet,
    method: Method,
    primitives: Mapping[str, int] | None,
    tokens: int,
    encoder: Described | None,
) -> ModelSpec:
    """The spec of the model for these tasks."""
    if method.classification_only and tasks.kind != "classification":
        others = ", ".join(name for name, other in METHODS.items() if not other.classification_only)
        raise UserError(
            f"{config.method} is for classification only, and the answers of these tasks are sequences; "
            f"methods for those: {others}"
        )
    if not len(tasks.vocabulary):
        raise UserError("the inputs of these tasks have no tokens: there is nothing to learn from")
    network = {name: value for name, value in vars(config.network).items() if name not in _NOT_OF_SPEC}
    if network["conditioning"] != "adapter":
        network["bottleneck"] = None
    if encoder is not None:
        network |= encoder.sizes | {"encoder": encoder.spec}
    unknown_tokens = config.network.mask_tokens > 0 or encoder is not None
    programs = _programs(config, tasks)
    y = [task.y.lengths.max(initial=0) for task in tasks if isinstance(task.y, Sequences)]
    try:
        spec = ModelSpec(
            kind=tasks.kind,
            vocabulary=tokens + unknown_tokens,
            unknown_tokens=unknown_tokens,
            copies=config.network.copy and tasks.kind == "transduction",
            classes=tasks.n_classes,
            max_x=max(int(task.x.lengths.max(initial=0)) for task in tasks),
            max_y=max(1, *map(int, y)) if y else 0,
            memory=memory_size(tasks.train) if config.network.hints else 0,
            programs=programs,
            token_classes=config.network.hints > 0 and tasks.kind == "transduction" and not programs,
            primitives=len(primitives or ()),
            slots=len(tasks.train[0].primitives) if primitives else 0,
            **network,
        )
        return method.spec(spec, len(tasks.train))
    except ValueError as error:  # settings that do not fit these tasks
        raise UserError(str(error)) from None


def _programs(config: Config, tasks: TaskSet) -> int:
    """The number of programs that hints try: 0 if they explain no training task."""
    draws = config.network.programs if config.network.hints else 0
    return draws if draws and explain_some(tasks, draws) else 0


def check_primitives(tasks: TaskSet, primitives: Mapping[str, int]) -> None:
    """Raise an error unless all tasks have equally many primitives, and new tasks exactly one unseen."""
    slots, file = len(tasks.train[0].primitives), _file_of(tasks)
    for task in tasks:
        if len(task.primitives) != slots:
            raise UserError(
                f"{file}task {task.name!r} has {len(task.primitives)} primitives, and task "
                f"{tasks.train[0].name!r} has {slots}: all tasks must have the same number"
            )
    for task in (task for name, members in tasks.splits.items() if name != "train" for task in members):
        try:
            unknown_slot(f"{file}task {task.name!r}, not for training", task.primitives, primitives)
        except PrimitivesError as error:
            raise UserError(f"{error}; change its primitives, or set use_primitives to False") from None


def check_examples(tasks: TaskSet, protocol: Protocol, split: str) -> None:
    """Raise an error unless the tasks of a split have enough examples for queries and supports at all k."""
    try:
        episodes(tasks.splits[split], max(protocol.shots), protocol)
    except UserError as error:
        raise UserError(f"{_file_of(tasks)}{split} {error}") from None


def _file_of(tasks: TaskSet) -> str:
    """The prefix of an error about tasks: their file, if they were read from one."""
    return f"{tasks.options['path']}: " if "path" in tasks.options else ""


def check_same(setup: Setup, written: Mapping[str, Any], path: Path) -> None:
    """Raise an error if a file was written by a run with other tasks or settings."""
    if (before := written.get("fingerprint")) not in (None, setup.tasks.fingerprint):
        raise UserError(
            f"{path}: the run there has other tasks, with the fingerprint {before}, not "
            f"{setup.tasks.fingerprint}: give it the tasks it started with, or use another folder"
        )
    if (config := written.get("config")) is None:
        return
    if not isinstance(config, dict):
        raise UserError(f"{path}: its config must be an object: got {shown(config)}")
    if changes := setup.config.differences(Config.from_json(config).to_json()):  # new settings have defaults
        raise UserError(
            f"{path}: the run there has other settings: {'; '.join(changes)}: resume it with the same ones, "
            "or use another folder"
        )
