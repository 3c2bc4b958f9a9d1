"""Training for a stated part of a GPU, however many processes share it.

A budget is in seconds of a GPU alone: steps × the time of a step that has the GPU to itself, which steps.py
measured before. Only steps count: not what it takes to record one, nor validation.
"""

import gc
import json
import math
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tam.config import Config
from tam.errors import UserError
from tam.files import read_json
from tam.methods import make_method
from tam.training.loop import DivergedError, Trainer

STEPS = Path(__file__).resolve().parents[1] / "results" / "steps.json"
"""The times of steps."""
LOOK_EVERY = 50
"""Steps between two looks at the loss."""
COUNTED = "steps × the time of a step that has the GPU to itself"
"""What the seconds of a budget are."""

Times = Callable[[Config], Mapping[int, float]]
"""The milliseconds of a step of each phase, given the settings."""


def step_key(config: Config, benchmark: str, compositional: bool) -> dict[str, Any]:
    """What the time of a step depends on."""
    network, training, settings = (
        asdict(part) for part in (config.network, config.training, config.settings)
    )
    key: dict[str, Any] = {"method": config.method, "benchmark": benchmark, "compositional": compositional}
    if config.settings.per_shots:
        key["shots"] = config.protocol.shots[0]
    key |= network | {name: training[name] for name in ("tasks", "rows", "precision")}
    free = ("inner_rate", "finetune", "small_share", "small_after", "small_sizes", "smoothing")
    return key | {name: value for name, value in settings.items() if name not in free}


def device_name(device: str) -> str:
    """What the device is called."""
    return torch.cuda.get_device_name() if device != "cpu" else platform.machine()


def measured_times(file: Path, benchmark: str, compositional: bool) -> Times:
    """Looks up the times that steps.py has measured on a device like this."""

    def times(config: Config) -> dict[int, float]:
        key = step_key(config, benchmark, compositional)
        facts = read_json(file) if file.exists() else {"steps": [], "device": None}
        here = device_name(config.device)
        found = [row["ms"] for row in facts["steps"] if row["of"] == json.loads(json.dumps(key))]
        if facts["device"] != here or not found:
            raise UserError(
                f"{file} has no time of this step on {here}: measure it with `python benchmarks/steps.py`; "
                f"the step is of {key}"
            )
        return {int(phase): ms for phase, ms in found[0].items()}

    return times


class Plan(NamedTuple):
    """How many steps are taken, and how many seconds of a GPU alone that is, if it is known."""

    steps: int
    seconds: float | None = None


def plan(config: Config, times: Times, seconds: float) -> Plan:
    """As many steps as fill the seconds, at least one; none for a method that is not trained."""
    if config.training.steps == 0:
        return Plan(0, 0.0)
    phase, ms = make_method(config).phase, times(config)
    steps, used = 1, ms[phase(0)]
    while (more := used + ms[phase(steps)]) <= 1000 * seconds:
        steps, used = steps + 1, more
    return Plan(steps, used / 1000)


def train(trainer: Trainer, steps: int, validate_at: Sequence[float] = ()) -> None:
    """Train for so many steps.

    After these shares of them it validates, which keeps the weights that are the best so far at a k.
    """
    started = time.monotonic()
    trainer.config = trainer.config.override(steps=steps)
    validated = sorted({round(share * steps) for share in validate_at} - {0, steps})
    for last in (*validated, steps):
        while (left := last - trainer.state.step) > 0:
            take_steps(trainer, min(left, LOOK_EVERY))
        if last < steps:
            trainer.validate()
    trainer.state.seconds = time.monotonic() - started


def take_steps(trainer: Trainer, steps: int) -> float:
    """Take some steps; the seconds that they took."""
    started = time.monotonic()
    for _ in range(steps - 1):
        trainer.step()
    loss = float(trainer.step().end)  # waits for a GPU
    if not (math.isfinite(loss) and math.isfinite(float(trainer.adam.norm))):
        raise DivergedError(f"the loss is {loss} at step {trainer.state.step}")
    return time.monotonic() - started


def let_go(device: str) -> None:
    """Free what a trainer held that is no more."""
    gc.collect()
    if device != "cpu":
        torch.compiler.reset()
        torch.cuda.empty_cache()
