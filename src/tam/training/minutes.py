"""Settle the settings of a run: the preset, fitted to the tasks and perhaps to a number of minutes.

To fit minutes, measure what a step costs on this machine, then choose sizes, steps and scoring. The plan is
kept in the run's folder, so that a resumed run does not measure again.
"""

import math
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tam.config.config import Config
from tam.config.sections import Protocol
from tam.errors import UserError, counted
from tam.evaluation.protocol import choose
from tam.io import MALFORMED, exists, read_json
from tam.tasks.taskset import TaskSet
from tam.training import distribution
from tam.training.checkpoint import write_json
from tam.training.defaults import Settled, fit_memory, follow_data, not_given, small_sizes
from tam.training.preflight import prepare
from tam.training.trainer import Trainer

ENOUGH_STEPS = 300
"""A larger network or batch is taken only if it leaves this many outer steps."""
MOST_STEPS = 20_000
_SIZES: tuple[dict[str, int], ...] = (
    {"layers": 4, "width": 128, "tasks": 16, "rows": 128},
    {"layers": 4, "width": 128, "tasks": 16, "rows": 64},
    {"layers": 2, "width": 128, "tasks": 16, "rows": 64},
    {"layers": 2, "width": 64, "tasks": 16, "rows": 64},
    {"layers": 2, "width": 64, "tasks": 16, "rows": 32},
    {"layers": 2, "width": 64, "tasks": 8, "rows": 32},
    {"layers": 2, "width": 64, "tasks": 8, "rows": 16},
    {"layers": 1, "width": 64, "tasks": 8, "rows": 16},
)
"""From largest to smallest; settings that the user gave do not change."""
_MEASURING_SHARE, _SCORING_SHARE, _TEST_SHARE = 0.2, 0.2, 0.15
"""The largest shares of the time for measuring, for validations and for the test tasks."""
_MOST_VALIDATIONS = 5
_AT_THE_END = 2.0  # seconds for writing the result and drawing
_FASTER = 2
"""The planned steps are multiplied by this, in case the machine gets faster: the clock ends a run and drives
its learning rate."""


@dataclass(frozen=True)
class Cost:
    """Measured costs: the seconds of an outer step, of a unit of scoring work, and of measuring the two."""

    step: float
    scoring: float
    measuring: float = 0.0


def settle(
    config: Config,
    tasks: TaskSet,
    folder: Path,
    *,
    preset: str,
    given: Collection[str] = (),
    minutes: float | None = None,
    stored: Config | None = None,
    since: float | None = None,
    with_test: bool = True,
) -> Settled:
    """The settings to train with, and what the user should know about them.

    Args:
        config: The preset with the settings that the user gave.
        tasks: The tasks to train on.
        folder: The run's folder, which holds the plan of a run that was started with `minutes`.
        preset: The preset's name.
        given: Names of the settings that the user gave, which do not change.
        minutes: The time limit of the run, if there is one.
        stored: The settings of the run in the folder, if it is resumed.
        since: The start of the time, by `time.monotonic`; now if not given.
        with_test: Whether the test tasks will be scored.
    """
    followed = follow_data(config, tasks, given, preset=preset)
    if minutes is not None:
        plan = fit_minutes(
            followed.config, tasks, minutes, folder, given=given, since=since, with_test=with_test
        )
    elif stored is not None and "rows" not in given:  # they may depend on the memory free then
        return replace(followed, config=followed.config.override(rows=stored.training.rows))
    elif "name" in tasks.options:
        return followed
    else:
        plan = fit_memory(followed.config, tasks, given)
    return replace(plan, notes=(*followed.notes, *plan.notes))


def fit_minutes(
    config: Config,
    tasks: TaskSet,
    minutes: float,
    folder: Path,
    *,
    given: Collection[str] = (),
    since: float | None = None,
    with_test: bool = True,
) -> Settled:
    """Choose the settings with which a run ends after this many minutes, scoring included: see `settle`."""
    if not (minutes > 0 and math.isfinite(minutes)):
        raise UserError(f"minutes must be above 0: got {minutes}")
    file, since = folder / "plan.json", time.monotonic() if since is None else since
    if exists(file):
        return Settled(_earlier(file, config, minutes, tasks))
    if distribution.launched() > 1:  # each would measure, and plan, something else
        raise UserError("minutes is for a run of one process: with several, give steps or max_seconds")
    if not config.settings.trained:
        return Settled(config)
    seconds = 60 * minutes - (_AT_THE_END if with_test else 0)
    used = 60 * minutes - seconds + time.monotonic() - since
    sized, cost = _choose_size(config, tasks, seconds, given)
    used, left = used + cost.measuring, seconds - (time.monotonic() - since)
    planned = _schedule(sized, tasks, (used, left), cost, given, with_test=with_test)
    machine = "CPU" if config.device == "cpu" else "GPU"
    lines = (f"{minutes:g} minute{'s' if minutes != 1 else ''} on this {machine}:", *planned.notes)
    values = {"minutes": minutes, "tasks": tasks.fingerprint, "from": config.to_json()}
    values["config"] = planned.config.to_json()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(file, values | {"chosen": lines})
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return Settled(planned.config, ("\n".join(lines),))


def _earlier(file: Path, config: Config, minutes: float, tasks: TaskSet) -> Config:
    """The plan that a run was started with; raise an error if it is for other settings, minutes or tasks."""
    values = read_json(file)
    try:
        changes = config.differences(Config.from_json(values["from"]).to_json())
        if values["minutes"] != minutes:
            changes.append(f"minutes was {values['minutes']:g} and is {minutes:g}")
        if values.get("tasks", tasks.fingerprint) != tasks.fingerprint:
            changes.append("the tasks differ")
        planned = Config.from_json(values["config"])
    except (*MALFORMED, UserError) as error:
        raise UserError(f"{file}: not the plan of a run ({error!r})") from None
    if changes:
        raise UserError(f"{file}: the run there has other settings: {'; '.join(changes)}")
    return planned


def _choose_size(
    config: Config, tasks: TaskSet, seconds: float, given: Collection[str]
) -> tuple[Config, Cost]:
    """The largest network and batch that leave enough steps, with their cost.

    Costs are measured, from the smallest size on a CPU and from the largest on a GPU. A larger size is
    measured only if it should leave enough steps, judging by its arithmetic, and if there is time.
    """
    sizes = _sizes(config, tasks, given)
    longest_step = (1 - _SCORING_SHARE - _TEST_SHARE) * seconds / ENOUGH_STEPS
    measured: dict[int, Cost] = {}
    place: int | None = 0 if config.device != "cpu" else len(sizes) - 1
    until = time.monotonic() + _MEASURING_SHARE * seconds
    while place is not None:
        cost = measured[place] = _measure(sizes[place], tasks, seconds)
        late, others = time.monotonic() > until, range(place + 1, len(sizes))
        if cost.step > longest_step:
            others = others[-1:] if late else others
        elif late:
            break
        else:
            of_a_unit = cost.step / _work(sizes[place], tasks)
            others = [
                larger for larger in range(place) if of_a_unit * _work(sizes[larger], tasks) <= longest_step
            ]
        place = next((other for other in others if other not in measured), None)
    enough = [place for place, cost in measured.items() if cost.step <= longest_step]
    best = min(enough) if enough else min(measured, key=lambda other: measured[other].step)
    return sizes[best], measured[best]


def _sizes(config: Config, tasks: TaskSet, given: Collection[str]) -> list[Config]:
    """Configs from largest to smallest that the tasks and the memory allow; at least one."""
    most, tried = max(map(len, tasks.train)), list[Config]()
    valid, fitting, error = list[Config](), list[Config](), None
    for size in _SIZES:
        size = size | {"tasks": min(size["tasks"], len(tasks.train)), "rows": min(size["rows"], most)}
        sized = config.override(**not_given(size, given))
        if sized in tried:
            continue
        tried.append(sized)
        try:
            prepare(sized, tasks, with_test=False)
        except UserError as problem:  # such as too few rows for an episode
            error = problem
            continue
        supports = {"small_sizes": small_sizes(sized, tasks)} if _is_mixed(config) else {}
        valid.append(sized.override(**not_given(supports, given)))
        if fit_memory(sized, tasks, given).config == sized:
            fitting.append(valid[-1])
    if error is not None and not valid:
        raise error
    return fitting or valid[-1:]


def _is_mixed(config: Config) -> bool:
    """Whether TAM fits z to small supports too."""
    return getattr(config.settings, "support", "all") == "mixed"


def _work(config: Config, tasks: TaskSet) -> float:
    """The arithmetic of a step, up to a factor."""
    spec = prepare(config, tasks, with_test=False).spec
    places = spec.x_places + spec.max_y + spec.task_places
    block = 12 * spec.width**2 + places * spec.width
    return config.training.tasks * config.training.rows * places * (spec.layers * block + 1000 * spec.width)


def _measure(config: Config, tasks: TaskSet, seconds: float) -> Cost:
    """Time a few outer steps of the last phase, and the scoring of a few validation tasks."""
    if _is_mixed(config):
        config = config.override(small_after=0)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(prepare(config, tasks, with_test=False), Path(folder))
        step = math.inf
        for _ in range(1 if config.device == "cpu" else 6):  # compiles and captures
            step = _step_seconds(trainer, 0)
        if time.monotonic() - began < _MEASURING_SHARE * seconds:
            step = _step_seconds(trainer, 0.02 * seconds)
        scoring = _scoring_cost(trainer, tasks)
        return Cost(step, scoring, time.monotonic() - began)


def _step_seconds(trainer: Trainer, limit: float) -> float:
    """The mean seconds of at most 50 steps, taken until the limit, or of one."""
    started, steps = time.monotonic(), 0
    while not steps or (steps < 50 and time.monotonic() - started < limit):
        float(trainer.step().end)
        steps += 1
    return (time.monotonic() - started) / steps


def _scoring_cost(trainer: Trainer, tasks: TaskSet) -> float:
    """The seconds of a unit of scoring work."""
    asked = trainer.config.protocol
    k, valid = max(asked.shots), trainer.setup.splits["valid"][:4]
    protocol = replace(asked, supports=1, adapt_steps=_up_to(asked.adapt_steps, 5), queries=20)
    started = time.monotonic()
    choose(trainer.method, trainer.model, valid, k, protocol, trainer.primitives)
    return (time.monotonic() - started) / _validation_work(replace(protocol, shots=(k,)), tasks, len(valid))


def _validation_work(protocol: Protocol, tasks: TaskSet, count: int) -> float:
    """The rows that pass through the network for all steps and rates; those with a gradient count thrice."""
    steps, rates = protocol.adapt_steps, len(protocol.adapt_rates)
    each = sum(
        3 * (max(steps) + 1) * k * max(tasks.n_classes, 1) + len(steps) * protocol.queries
        for k in protocol.shots
    )
    return count * protocol.supports * rates * each


def _test_work(protocol: Protocol, tasks: TaskSet) -> float:
    """The same for the test tasks, with one rate and only the largest number of steps."""
    once = replace(protocol, adapt_steps=(max(protocol.adapt_steps),), adapt_rates=protocol.adapt_rates[:1])
    return _validation_work(once, tasks, len(tasks.test))


def _protocols(protocol: Protocol, given: Collection[str]) -> Iterator[Protocol]:
    """The requested protocol, then ever cheaper ones."""
    changes: list[dict[str, Any]] = [
        {},
        {"supports": min(2, protocol.supports)},
        {"adapt_steps": _up_to(protocol.adapt_steps, 25)},
        {"adapt_rates": protocol.adapt_rates[-2:], "queries": min(30, protocol.queries)},
        {"supports": 1},
        {"adapt_steps": _up_to(protocol.adapt_steps, 12), "adapt_rates": protocol.adapt_rates[-1:]},
        {"queries": min(15, protocol.queries)},
        {"adapt_steps": _up_to(protocol.adapt_steps, 5)},
    ]
    for change in changes:
        protocol = replace(protocol, **not_given(change, given))
        yield protocol


def _up_to(steps: tuple[int, ...], most: int) -> tuple[int, ...]:
    return tuple(step for step in steps if step <= most) or (min(steps),)


def _schedule(
    config: Config,
    tasks: TaskSet,
    times: tuple[float, float],
    cost: Cost,
    given: Collection[str],
    *,
    with_test: bool,
) -> Settled:
    """Choose the steps, validations and protocol, given the seconds that are used and those that are left."""
    used, seconds = times
    protocol, validation, test = config.protocol, 0.0, 0.0
    for protocol in _protocols(config.protocol, given):
        validation = cost.scoring * _validation_work(protocol, tasks, len(tasks.valid))
        test = cost.scoring * _test_work(protocol, tasks) if with_test else 0.0
        if 2 * validation <= _SCORING_SHARE * seconds and test <= _TEST_SHARE * seconds:
            break
    validations = max(1, min(_MOST_VALIDATIONS, int(_SCORING_SHARE * seconds / max(validation, 1e-9))))
    before = int(config.network.hints > 0 and tasks.kind == "transduction")  # one at step 0
    training = seconds - (validations + before) * validation - test
    planned = min(MOST_STEPS, int(training / cost.step))
    if planned < 1:
        least = math.ceil((used + (validations + before) * validation + test + 10 * cost.step) / 6) / 10
        raise UserError(
            f"minutes must be about {least:g} or more for these tasks on this machine, scoring included"
        )
    if "steps" in given:
        planned = min(planned, config.training.steps)
    every = math.ceil(planned / validations)
    limit = round(training + (validations - 1 + before) * validation, 1)
    changes: dict[str, Any] = {"steps": _FASTER * planned, "validate_every": every, "max_seconds": limit}
    changes |= {"warmup": min(config.training.warmup, max(1, planned // 10)), "stop_after": None}
    changes["checkpoint_every"] = max(1, min(every, round(20 / cost.step)))
    if _is_mixed(config):
        changes["small_after"] = planned // 4
    scheduled = replace(config, protocol=protocol).override(**not_given(changes, given))
    batch = f"{config.training.tasks} tasks of {config.training.rows} rows a step"
    shots = " ".join(map(str, protocol.shots))
    asked = f"shots {shots}, supports {protocol.supports}, queries up to {protocol.queries}"
    asked += f", steps to adapt up to {most}" if (most := max(protocol.adapt_steps)) else ""
    lines = [
        f"  {_network_in_words(config)}, {batch}: about {planned} steps of {_duration(cost.step)}",
        f"  {asked}",
        f"  about {validations} validations of {_duration(validation)}",
    ]
    if with_test:
        lines.append(f"  {len(tasks.test)} test tasks in about {_duration(test)}")
    return Settled(scheduled, tuple(lines))


def _network_in_words(config: Config) -> str:
    network = config.network
    if network.encoder is not None:
        return "the encoder"
    return f"{counted(network.layers, 'layer')} of width {network.width}"


def _duration(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
