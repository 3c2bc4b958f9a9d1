"""A run that is fitted to a number of minutes, and one that the clock ends."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tam
from tam.config.config import Config
from tam.errors import InterruptedRunError, UserError
from tam.training import defaults
from tam.training import minutes as planning
from tam.training.minutes import ENOUGH_STEPS, Cost, fit_minutes, settle
from tam.training.preflight import prepare
from tam.training.trainer import Trainer
from tests.clock import Clock
from tests.training.run_folder import records
from tests.training.toys import ignore, toy_config, toy_tasks, train_in


def costs(per_row: float, scoring: float) -> Any:
    """Costs that follow the size of a step alone, so that a plan does not depend on the machine."""

    def measure(config: Config, *_: object) -> Cost:
        network, training = config.network, config.training
        work = network.layers * network.width**2 / 64**2 * training.tasks * training.rows
        return Cost(per_row * work, scoring)

    return measure


@pytest.mark.parametrize(
    ("per_row", "size"),
    [(1e-9, (4, 128, 16, 128)), (1e-5, (2, 128, 16, 64)), (2e-5, (2, 64, 16, 64)), (1.0, (1, 64, 8, 16))],
)
def test_the_largest_size_is_taken_that_leaves_enough_steps(
    per_row: float,
    size: tuple[int, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks = toy_tasks(size=200)
    many = tam.TaskSet(dict(tasks.splits) | {"train": _renamed(tasks.train, 3)}, tasks.vocabulary)
    seconds = 60 if per_row < 1 else 3600
    monkeypatch.setattr(planning, "_measure", costs(per_row, 1e-9))
    config = fit_minutes(Config.from_preset("quick"), many, seconds / 60, tmp_path).config
    found = (config.network.layers, config.network.width, config.training.tasks, config.training.rows)
    assert found == size
    assert (config.training.steps >= 2 * ENOUGH_STEPS) == (per_row < 1)
    assert 0.5 * seconds < (config.training.max_seconds or 0) < seconds


def _renamed(tasks: tuple[tam.Task, ...], times: int) -> tuple[tam.Task, ...]:
    return tuple(replace(task, name=f"{task.name} {copy}") for copy in range(times) for task in tasks)


def test_scoring_gets_cheaper_until_it_takes_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, start = toy_tasks("transduction", size=200), Config.from_preset("quick")
    seen = []
    for place, scoring in enumerate((1e-9, 1e-4, 1e-3, 5e-3)):
        monkeypatch.setattr(planning, "_measure", costs(1e-6, scoring))
        config = fit_minutes(start, tasks, 1, tmp_path / str(place)).config
        work = planning._validation_work(config.protocol, tasks, 2)  # pyright: ignore[reportPrivateUsage]
        seen.append(work)
        assert work * scoring <= 12
    assert seen[0] > seen[1] > seen[2] > seen[3]
    monkeypatch.setattr(planning, "_measure", costs(1e-6, 10.0))
    with pytest.raises(UserError, match=r"minutes must be about \d+\.?\d* or more") as caught:
        fit_minutes(start, tasks, 1, tmp_path / "none")
    assert float(str(caught.value).split()[4]) > 1
    monkeypatch.setattr(planning, "_measure", costs(1e-6, 1e-9))
    with pytest.raises(UserError, match=r"minutes must be about 1\.[2-5] or more"):  # measuring took 70 s
        fit_minutes(start, tasks, 1, tmp_path / "none", since=time.monotonic() - 70)
    for minutes in (0, -1, float("nan")):
        with pytest.raises(UserError, match="minutes must be above 0"):
            fit_minutes(start, tasks, minutes, tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UserError, match="minutes is for a run of one process"):
        fit_minutes(start, tasks, 1, tmp_path)


def test_settings_that_no_size_allows_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a machine with too little memory gets the smallest size."""
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"shots": (99,)}, "too few examples"),
        ({"heads": 3}, "heads"),
    ]
    for given, about in wrong:
        with pytest.raises(UserError, match=about):
            fit_minutes(Config.from_preset("quick", **given), toy_tasks(size=200), 1, tmp_path, given=given)
    monkeypatch.setattr(planning, "_measure", costs(1e-5, 1e-6))
    monkeypatch.setattr(defaults, "free_bytes", lambda _: 1)
    config = fit_minutes(Config.from_preset("quick"), toy_tasks(size=200), 1, tmp_path).config
    assert (config.network.layers, config.training.rows) == (1, 16)


@pytest.mark.parametrize("per_row", [2e-6, 2e-4, 2e-3])
def test_measuring_starts_small_and_takes_its_share_of_the_time(
    per_row: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    steps: list[float] = []

    def measure(config: Config, *rest: object) -> Cost:
        steps.append(costs(per_row, 1e-9)(config, *rest).step)
        clock.now += 30 * steps[-1]
        return Cost(steps[-1], 1e-9, 30 * steps[-1])

    monkeypatch.setattr(planning, "_measure", measure)
    tasks, start = toy_tasks(size=200), Config.from_preset("quick")
    assert fit_minutes(start, tasks, 1, tmp_path / "run").config.training.steps > 1
    assert steps[0] == min(steps)
    assert 30 * sum(steps) < 0.25 * 60


def test_sizes_that_are_not_taken_do_not_count_as_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    def least(of_a_larger_size: float) -> str:
        def measure(config: Config, *_: object) -> Cost:
            small = config.network.layers == 1
            seconds = 1.0 if small else of_a_larger_size
            clock.now += seconds
            return Cost(1e-3 if small else 1e3, 10.0, seconds)

        monkeypatch.setattr(planning, "_measure", measure)
        with pytest.raises(UserError, match="minutes must be about") as caught:
            fit_minutes(Config.from_preset("quick"), toy_tasks(size=200), 1, tmp_path)
        return str(caught.value)

    assert least(1.0) == least(500.0)


def test_what_is_given_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_measure", costs(1e-5, 1e-3))
    given = {"width": 32, "rows": 24, "supports": 3, "validate_every": 9, "shots": (2,)}
    config = Config.from_preset("quick", **given)
    planned = settle(config, toy_tasks(), tmp_path, preset="quick", given=given, minutes=1).config
    assert planned == planned.override(**given)
    assert planned.network.layers != config.network.layers


def test_a_plan_has_the_steps_that_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_measure", costs(1e-5, 1e-3))
    config = Config.from_preset("quick", steps=20)
    plan = settle(config, toy_tasks(), tmp_path, preset="quick", given={"steps": 20}, minutes=1)
    assert plan.config.training.steps == 20
    assert plan.config.training.validate_every <= 20, "so that it is validated on the way"
    assert "about 20 steps" in "\n".join(plan.notes)


def test_a_plan_is_kept_for_when_the_run_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, tasks = Config.from_preset("quick"), toy_tasks(size=200)
    monkeypatch.setattr(planning, "_measure", costs(1e-5, 1e-6))
    first = fit_minutes(config, tasks, 2, tmp_path)
    monkeypatch.setattr(planning, "_measure", None)
    assert fit_minutes(config, tasks, 2, tmp_path).config == first.config
    with pytest.raises(UserError, match=r"plan.json: .*minutes was 2 and is 3"):
        fit_minutes(config, tasks, 3, tmp_path)
    with pytest.raises(UserError, match=r"plan.json: .*seed was 0 and is 1"):
        fit_minutes(config.override(seed=1), tasks, 2, tmp_path)
    with pytest.raises(UserError, match=r"plan.json: .*tasks differ"):
        fit_minutes(config, toy_tasks(size=100), 2, tmp_path)
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["chosen"] == first.notes[0].splitlines()
    for damage in ({"minutes": None}, {"from": {"network": 3}}):
        (tmp_path / "plan.json").write_text(json.dumps(plan | damage))
        with pytest.raises(UserError, match=r"plan.json: not the plan"):
            fit_minutes(config, tasks, 2, tmp_path)


@pytest.mark.slow
def test_a_fit_ends_in_time_and_can_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan asks for more steps than fit, so that the clock ends the run, however busy the machine is."""
    monkeypatch.setattr(planning, "_measure", costs(1e-8, 1e-7))
    tasks, seconds = toy_tasks(size=60), 6.0
    small: dict[str, Any] = {"layers": 1, "width": 16, "tasks": 4, "rows": 16, "checkpoint_every": 1}
    shown: list[Any] = []

    def stop(record: Any) -> None:
        shown.append(record)
        if "step" in record:  # the first: however slow the machine, nothing is validated yet
            raise InterruptedRunError("stopped")

    started = time.monotonic()
    with pytest.raises(InterruptedRunError):
        tam.Learner(**small).fit(tasks, tmp_path, stop, minutes=seconds / 60)
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert shown[1]["note"] == "\n".join(plan["chosen"])
    learner = tam.Learner(**small).fit(tasks, tmp_path, ignore, minutes=seconds / 60)
    assert 0.3 * seconds < time.monotonic() - started
    assert learner.config == Config.from_json(plan["config"])
    valid = [record for record in records(tmp_path) if "valid" in record]
    assert 1 <= valid[-1]["step"] < learner.config.training.steps
    assert learner.evaluate(tasks.test)[0].accuracy > 0.3


def test_the_clock_ends_a_run_with_a_validation(tmp_path: Path) -> None:
    config = toy_config(steps=10**6, validate_every=10**6, checkpoint_every=10**6, max_seconds=0.5)
    trainer = train_in(tmp_path, config)
    last = records(tmp_path)[-1]
    assert last["step"] == trainer.state.step
    assert "valid" in last
    assert 0.5 <= trainer.state.seconds < 5
    again = train_in(tmp_path, config)  # from its checkpoint: nothing is left to do
    assert again.state.step == trainer.state.step
    assert again.choices == trainer.choices


def test_the_rate_follows_the_time_where_steps_are_slow(tmp_path: Path) -> None:
    def rate(seconds: float, **limit: Any) -> float:
        trainer = Trainer(prepare(toy_config(steps=100, warmup=0, **limit), toy_tasks()), tmp_path)
        trainer.state.step, trainer.state.seconds = 10, seconds
        trainer.step()
        return float(trainer.adam.rate)

    assert rate(5.0, max_seconds=10.0) == pytest.approx(0.005)  # half of the peak at half of the time
    assert rate(0.5, max_seconds=10.0) == rate(99.0)
    assert rate(20.0, max_seconds=10.0) == 0
