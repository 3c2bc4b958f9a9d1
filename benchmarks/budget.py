"""Training for a stated part of a GPU, however many processes share it.

A budget is in seconds of a GPU alone: steps × the time of a step that has the GPU to itself. That is measured
before, while the other processes are stopped. Only steps count: not what it takes to record one, nor
validation.
"""

import gc
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import torch
from sharing import alone

from tam.config import Config
from tam.evaluation import KShotScore
from tam.methods import Method
from tam.training.loop import DivergedError, Trainer

COUNTED = "steps × the time of a step that has the GPU to itself"
"""What the seconds of a budget are."""

SETUP = 6
"""Steps until one is recorded for sure."""
FAR = 10**9
"""A step of the last phase of any method."""
REPEATS, ENOUGH = 5, 0.05
"""How often some steps are timed, of which the shortest time counts; and for how many seconds, about."""
LOOK_EVERY = 50
"""Steps between two looks at the loss."""
VALIDATED = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""The shares of the steps after which training is validated, besides the end: the best weights at a k count.
What is fine-tuned as a whole may learn new tasks worse the longer it is trained."""

Times = Mapping[int, float]
"""The milliseconds of a step of each phase."""
Measure = Callable[[Trainer], Times]
"""Finds the times, and leaves the trainer as it was."""


class Plan(NamedTuple):
    """How many steps are taken, and how many seconds of a GPU alone that is, if it is known."""

    steps: int
    seconds: float | None = None


class Stopwatch:
    """Measures the times of steps; what takes the same time once."""

    def __init__(self) -> None:
        self._known: dict[str, Times] = {}

    def __call__(self, trainer: Trainer) -> Times:
        """The times of a trainer at its start, which it is put back to."""
        key = json.dumps(step_key(trainer.config))
        if key not in self._known:
            self._known[key] = step_times(trainer)
        return self._known[key]


def step_key(config: Config) -> dict[str, Any]:
    """What the time of a step depends on, given the tasks."""
    network, training, settings = (
        asdict(part) for part in (config.network, config.training, config.settings)
    )
    key: dict[str, Any] = {"method": config.method}
    if config.settings.per_shots:
        key["shots"] = config.protocol.shots[0]
    key |= network | {name: training[name] for name in ("tasks", "rows", "precision")}
    free = ("inner_rate", "finetune", "small_share", "small_after", "small_sizes", "smoothing")
    return key | {name: value for name, value in settings.items() if name not in free}


def step_times(trainer: Trainer) -> Times:
    """The milliseconds of a step of each phase that has the GPU to itself; the trainer stays as it was."""
    trainer.write_checkpoint()
    first = {trainer.method.phase(step): step for step in (FAR, 0)}
    for step in first.values():
        trainer.state.step = step
        take_steps(trainer, SETUP)
    with alone():
        found = {phase: milliseconds(trainer, step) for phase, step in sorted(first.items())}
    trainer.read_checkpoint()
    return found


def milliseconds(trainer: Trainer, step: int) -> float:
    """Of a step, and others of its phase."""
    trainer.state.step = step
    take_steps(trainer, 1)
    count = max(1, round(ENOUGH / take_steps(trainer, 1)))
    return round(min(1000 * take_steps(trainer, count) / count for _ in range(REPEATS)), 4)


def plan(method: Method, times: Times, seconds: float) -> Plan:
    """As many steps as fill the seconds, at least one."""
    steps, used = 1, times[method.phase(0)]
    while (more := used + times[method.phase(steps)]) <= 1000 * seconds:
        steps, used = steps + 1, more
    return Plan(steps, used / 1000)


def timed(method: Method, times: Times, steps: int) -> Plan:
    """So many steps, and the seconds that they fill."""
    return Plan(steps, sum(times[method.phase(step)] for step in range(steps)) / 1000)


def train(trainer: Trainer, steps: int) -> list[list[KShotScore]]:
    """Train for so many steps; the scores of every validation on the way, which all keep the best weights."""
    started = time.monotonic()
    trainer.config = trainer.config.override(steps=steps)
    validated = sorted({round(share * steps) for share in VALIDATED} - {0, steps})
    found: list[list[KShotScore]] = []
    for last in (*validated, steps):
        while (left := last - trainer.state.step) > 0:
            take_steps(trainer, min(left, LOOK_EVERY), queued=False)
        if last < steps:
            found.append(trainer.validate())
    trainer.state.seconds = time.monotonic() - started
    return found


def take_steps(trainer: Trainer, steps: int, *, queued: bool = True) -> float:
    """Take some steps; the seconds that they took.

    What a GPU has in its queue it goes on with when the process is stopped. If not `queued`, that is one step
    at most, and the host sleeps meanwhile.
    """
    started = time.monotonic()
    done = None if queued or trainer.device.type == "cpu" else torch.cuda.Event(blocking=True)
    for _ in range(steps - 1):
        trainer.step()
        if done is not None:
            done.record()
            done.synchronize()
    loss = float(trainer.step().end)  # waits for a GPU
    if not (math.isfinite(loss) and math.isfinite(float(trainer.adam.norm))):
        raise DivergedError(f"the loss is {loss} at step {trainer.state.step}")
    return time.monotonic() - started


def let_go(device: str) -> None:
    """Free what a trainer held that is no more; what was compiled for it stays, for others like it."""
    gc.collect()
    if device != "cpu":
        torch.cuda.empty_cache()
