"""Settings chosen to suit a user's own tasks, unless the user gave them.

Benchmarks keep their preset's settings, with which the published results were made.
"""

import math
import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tam.config.config import Config
from tam.errors import UserError, shown
from tam.evaluation.protocol import groups_of
from tam.models import ModelSpec
from tam.tasks.task import Task
from tam.tasks.taskset import TaskSet
from tam.training.preflight import prepare

_VALIDATIONS = 5
"""Number of validations of a run that would otherwise be validated only at its end."""
_PATIENT_VALIDATIONS = 3
_SHARE_OF_MEMORY = 0.6
_FINE_TUNING_RATE = 1e-4
"""Larger rates undo an encoder's pretraining."""
_WORTH_A_NOTE = 2 * 10**9  # bytes
_PER_PLACE = 21
"""Numbers that a block keeps for the backward pass per place and unit of width; measured on a CPU."""
_PER_PAIR = 1.5
"""Numbers that a head keeps per pair of places; measured on a CPU."""
_PER_OUTCOME = 4
"""Numbers kept per token that could be the answer."""


@dataclass(frozen=True)
class Settled:
    """Settings chosen to suit the tasks, and what to tell the user about them."""

    config: Config
    notes: tuple[str, ...] = ()


def follow_data(
    config: Config, tasks: TaskSet, given: Collection[str] = (), *, preset: str = "quick"
) -> Settled:
    """Adapt settings that the tasks do not allow, or that suit them less; never one that was given.

    - shots: those that leave a third of every validation and test task's examples as queries.
    - several validations and early stopping, if the only validation would be at the end.
    - with the preset quick, rotary positions: they allow longer inputs, and validate better there.
    - a smaller rate for a pretrained encoder whose weights are trained.
    - with the preset quick, TAM fits z to small supports too, as it will for a new task.
    """
    if "name" in tasks.options:
        return Settled(config)
    followed, notes = _shots(config, tasks, given)
    followed = followed.override(**not_given(_network(config, preset), given))
    if preset == "quick" and config.method == "tam":
        followed = followed.override(**not_given(_mixed_supports(followed, tasks), given))
    return Settled(followed.override(**not_given(_validations(followed), given)), tuple(notes))


def not_given(changes: dict[str, Any], given: Collection[str]) -> dict[str, Any]:
    """The changes to settings that the user did not give."""
    return {name: value for name, value in changes.items() if name not in given}


def most_shots(task: Task) -> int:
    """The largest k that leaves a third of a task's examples as queries; 0 if there is none."""
    groups = groups_of(task, np.arange(len(task)))
    return min(*map(len, groups), max(min(1, len(task) - 1), 2 * len(task) // 3 // len(groups)))


def _shots(config: Config, tasks: TaskSet, given: Collection[str]) -> tuple[Config, list[str]]:
    asked = config.protocol.shots
    scored = (task for split, some in tasks.splits.items() if split != "train" for task in some)
    smallest = min(scored, key=most_shots)
    most = most_shots(smallest)
    if "shots" in given or most < 1 or max(asked) <= most:
        return config, []
    shots = tuple(k for k in asked if k <= most) or (most,)
    words = " ".join(map(str, shots))
    note = f"shots is {words}: task {shown(smallest.name)} has examples for {most} at most, and for queries"
    return config.override(shots=shots), [note]


def _network(config: Config, preset: str) -> dict[str, Any]:
    network = config.network
    if not config.settings.trained:
        return {}
    if network.encoder is not None:
        return {} if network.freeze_encoder else {"rate": _FINE_TUNING_RATE}
    even = network.backbone == "lstm" or network.width // network.heads % 2 == 0
    if preset == "quick" and even:
        return {"positions": "rotary"}  # other presets need GPU kernels, which take position tables
    return {}


def _mixed_supports(config: Config, tasks: TaskSet) -> dict[str, Any]:
    after = min(400, config.training.steps // 4)
    return {"support": "mixed", "small_after": after, "small_sizes": small_sizes(config, tasks)}


def small_sizes(config: Config, tasks: TaskSet) -> tuple[int, int]:
    """The range of small supports: from one example per class to 64, or to all rows if there are fewer."""
    smallest = max(tasks.n_classes, 1)
    return smallest, max(smallest, min(64, config.training.rows))


def _validations(config: Config) -> dict[str, Any]:
    training = config.training
    if not training.steps or training.validate_every < training.steps:
        return {}
    every = math.ceil(training.steps / _VALIDATIONS)
    return {"validate_every": every, "stop_after": _PATIENT_VALIDATIONS * every}


def fit_memory(config: Config, tasks: TaskSet, given: Collection[str]) -> Settled:
    """Reduce rows if a step would not fit into free memory, and note how much memory a step takes."""
    try:
        spec = prepare(config, tasks, with_test=False).spec
    except UserError:  # the run reports it when it starts
        return Settled(config)
    free = free_bytes(config.device)
    if free is None or not config.settings.trained:
        return Settled(config)
    most = rows = min(config.training.rows, max(map(len, tasks.train)))
    of_a_row = row_bytes(spec) * min(config.training.tasks, len(tasks.train))
    while "rows" not in given and rows > 8 and rows * of_a_row > _SHARE_OF_MEMORY * free:
        rows = max(8, rows // 2)
    if rows < most:
        asked = f"a step of {most} rows would take about {_in_words(most * of_a_row)} of memory"
        note = f"rows is {rows}: {asked}, and {_in_words(free)} are free"
        return Settled(config.override(rows=rows), (note,))
    if rows * of_a_row < _WORTH_A_NOTE:
        return Settled(config)
    note = f"a step takes about {_in_words(rows * of_a_row)} of memory; {_in_words(free)} are free"
    return Settled(config, (note,))


def row_bytes(spec: ModelSpec) -> int:
    """Approximate bytes that a step keeps for the backward pass of an example, without our GPU kernels."""
    places = spec.task_places * (2 if spec.task_first else 1) + spec.x_places + spec.max_y
    block = places * (_PER_PLACE * spec.width + _PER_PAIR * spec.heads * places)
    answers = _PER_OUTCOME * (spec.max_y + 1) * spec.outputs
    return int(4 * (spec.layers * block + answers))


def free_bytes(device: str) -> int | None:
    """The number of free bytes on a device; None if the system does not report it."""
    if device != "cpu":
        return torch.cuda.mem_get_info(device)[0]
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            return None


def _in_words(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 5e8 else f"{size / 1e6:.0f} MB"
