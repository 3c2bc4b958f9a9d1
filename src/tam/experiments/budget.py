"""Budgets in GPU-seconds, which do not depend on how many processes share the GPU.

GPU-seconds are outer steps × the time of a step with the GPU to itself, measured on a separate trainer
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
"""Steps to take before the step is compiled and captured."""
LAST_PHASE = 10**9
"""The number of a step in the last phase of every method."""
REPEATS, REPEAT_SECONDS = 5, 0.05
"""Number of timings, of which the shortest counts, and the seconds that each takes, roughly."""

StepTimes = Mapping[int, float]
"""Milliseconds per step in each phase of a method."""


def step_times(config: Config, tasks: TaskSet) -> StepTimes:
    """Measure the milliseconds per step with the GPU to itself, for each phase of the method."""
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
    """Measure the time per step, starting at this step."""
    trainer.state.step = step
    _take_steps(trainer, 1)
    count = max(1, round(REPEAT_SECONDS / _take_steps(trainer, 1)))
    return round(min(1000 * _take_steps(trainer, count) / count for _ in range(REPEATS)), 4)


def _take_steps(trainer: Trainer, steps: int) -> float:
    """Take this many steps and return the seconds they took."""
    started = time.monotonic()
    for _ in range(steps - 1):
        trainer.step()
    loss = float(trainer.step().end)  # synchronises with the GPU
    if not (math.isfinite(loss) and math.isfinite(float(trainer.adam.norm))):
        raise DivergedError(f"the loss is {loss} at step {trainer.state.step}")
    return time.monotonic() - started


def steps_within(method: Method, times: StepTimes, seconds: float) -> int:
    """The number of steps that fit into these GPU-seconds, at least one."""
    steps, used = 1, times[method.phase(0)]
    while (used := used + times[method.phase(steps)]) <= 1000 * seconds:
        steps += 1
    return steps


def gpu_seconds(config: Config, times: StepTimes, steps: int) -> float:
    """The GPU-seconds of the first `steps` steps of a run."""
    method = make_method(config)
    return sum(times[method.phase(step)] for step in range(steps)) / 1000
