"""Training for a number of GPU-seconds, however many processes share the GPU.

GPU-seconds are outer steps × the time of a step with the GPU to itself, measured on a trainer of its own
while the other processes are paused. Compilation and validation do not count.
"""

import gc
import math
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import torch

from tam.config.config import Config
from tam.experiments.sharing import alone
from tam.methods import Method, make_method
from tam.tasks.taskset import TaskSet
from tam.training.preflight import prepare
from tam.training.trainer import DivergedError, Trainer

WARMUP_STEPS = 6
"""Steps until a step is compiled and captured."""
LAST_PHASE = 10**9
"""A step that is in the last phase of every method."""
REPEATS, REPEAT_SECONDS = 5, 0.05
"""How often steps are timed, and for about how many seconds each; the shortest time counts."""

StepTimes = Mapping[int, float]
"""Milliseconds per step in each phase of a method."""


def step_times(config: Config, tasks: TaskSet) -> StepTimes:
    """Milliseconds per step with the GPU to itself, for each phase of the method."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(prepare(config, tasks), Path(folder))
        first = {trainer.method.phase(step): step for step in (LAST_PHASE, 0)}
        for step in first.values():
            trainer.state.step = step
            _take_steps(trainer, WARMUP_STEPS)
        with alone():
            times = {phase: _milliseconds(trainer, step) for phase, step in sorted(first.items())}
    del trainer
    gc.collect()
    if config.device != "cpu":
        torch.cuda.empty_cache()
    return times


def _milliseconds(trainer: Trainer, step: int) -> float:
    """The time of one step, from this step on."""
    trainer.state.step = step
    _take_steps(trainer, 1)
    count = max(1, round(REPEAT_SECONDS / _take_steps(trainer, 1)))
    return round(min(1000 * _take_steps(trainer, count) / count for _ in range(REPEATS)), 4)


def _take_steps(trainer: Trainer, steps: int) -> float:
    """Take some steps and return the seconds they took."""
    started = time.monotonic()
    for _ in range(steps - 1):
        trainer.step()
    loss = float(trainer.step().end)  # waits for a GPU
    if not (math.isfinite(loss) and math.isfinite(float(trainer.adam.norm))):
        raise DivergedError(f"the loss is {loss} at step {trainer.state.step}")
    return time.monotonic() - started


def steps_within(method: Method, times: StepTimes, seconds: float) -> int:
    """How many steps fit into the seconds, at least one."""
    steps, used = 1, times[method.phase(0)]
    while (used := used + times[method.phase(steps)]) <= 1000 * seconds:
        steps += 1
    return steps


def gpu_seconds(config: Config, times: StepTimes, steps: int) -> float:
    """The GPU-seconds of a run's first steps."""
    method = make_method(config)
    return sum(times[method.phase(step)] for step in range(steps)) / 1000
