"""What does not go with the tasks is said before a run starts."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tam.config.config import Config
from tam.errors import UserError
from tam.learner.learner import Learner
from tam.training.checks import check_device
from tam.training.log import TrainingLog
from tam.training.loop import train
from tam.training.run import check
from tam.training.trainer import Trainer
from tests.training.run_folder import records
from tests.training.toys import MakeConfig, MakeTasks, ignore


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"backbone": "lstm"}, "transduction", "LSTM"),
        ({"use_primitives": True}, "classification", "primitives"),
        ({"method": "multitask", "unknown_share": 0.5}, "classification", "unknown_share has no effect"),
        ({"use_primitives": False}, "classification", "use_primitives has no effect on tasks without"),
        ({"support": "mixed"}, "classification", r"small_after is below the 6 .*, not 400 \(the default\)"),
        (
            {"support": "mixed", "small_after": 6},
            "transduction",
            "small_after is below the 6 steps of the run, not 6:",
        ),
        (
            {"method": "snail", "shots": (2,), "episode_queries": 3},
            "classification",
            "episode_queries is at most 2, not 3: 8 rows have no more beside the 6 examples of a support",
        ),
        (
            {"method": "matching", "shots": (1,), "episode_queries": 6},
            "classification",
            "episode_queries is at most 5",
        ),
        ({"device": "cuda"}, "classification", "device is 'cuda', but torch finds no GPU here"),
        ({"warmup": 10**400}, "classification", r"warmup is below 2\^63, not 1000"),
        ({"shots": (1, 2**63)}, "classification", r"shots is below 2\^63, not \(1, 9223372036854775808\)"),
        ({"layers": 10**12}, "classification", "layers must be at most 1000"),
    ],
)
def test_settings_that_do_not_go_with_the_tasks_are_errors(
    options: dict[str, Any],
    kind: str,
    message: str,
    toy_tasks: MakeTasks,
    toy_config: MakeConfig,
    tmp_path: Path,
) -> None:
    with pytest.raises(UserError, match=message):
        Trainer(toy_config(**options), toy_tasks(kind), tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"support": "mixed", "small_after": 5},
        {"support": "mixed", "steps": 0},  # a model as it is drawn
        {"method": "agnostic"},  # never told anything, as its presets say
        {"method": "snail", "shots": (2,), "episode_queries": 2},
        {"method": "matching", "shots": (2,)},  # at most 32 if not given
    ],
)
def test_settings_with_an_effect_and_those_of_presets_are_not(
    options: dict[str, Any], toy_tasks: MakeTasks, toy_config: MakeConfig
) -> None:
    check(toy_config(**options), toy_tasks())


@pytest.mark.parametrize("device", ["cuda:2", "cuda:x", "cuda:", "cuda:-1", "cuda:01"])
def test_a_gpu_that_is_not_there_is_an_error(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(UserError, match=f"device is '{device}', but the GPUs here are cuda:0 to cuda:1"):
        check_device(device)
    for there in ("cpu", "cuda", "cuda:0", "cuda:1"):
        check_device(there)


@pytest.mark.parametrize(
    ("split", "primitives", "message"),
    [
        ("train", ("p0",), "task 'changed' has 1 primitives, and task 'train 0' has 2"),
        ("valid", ("p0", "q0", "q1"), "task 'changed' has 3 primitives"),
        ("valid", ("p0", "q0"), "task 'changed', not for training: exactly one .*, not 0 of .*; change its"),
        ("test", ("new", "newer"), r"exactly one .*, not 2 of \['new', 'newer'\]: .* use_primitives"),
    ],
)
def test_primitives_are_checked_before_a_run_starts(
    split: str, primitives: tuple[str, ...], message: str, toy_tasks: MakeTasks, toy_config: MakeConfig
) -> None:
    tasks = toy_tasks(compositional=True)
    check(toy_config(), tasks)
    *others, last = tasks.splits[split]
    changed = replace(last, name="changed", primitives=primitives)
    splits = dict(tasks.splits) | {split: (*others, changed)}
    for checked in (check, lambda config, tasks: Trainer(config, tasks, Path())):
        with pytest.raises(UserError, match=message):
            checked(toy_config(), replace(tasks, splits=splits))


def test_primitives_are_tokens(toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path) -> None:
    tasks = toy_tasks(compositional=True)
    with pytest.raises(UserError, match="'norm'"):
        Trainer(toy_config(conditioning="norm"), tasks, tmp_path)
    trainer = Trainer(toy_config(), tasks, tmp_path)
    assert trainer.primitives == {"p0": 0, "p1": 1, "q0": 2, "q1": 3, "q2": 4}  # not the unseen one
    assert Trainer(toy_config(use_primitives=False), tasks, tmp_path).model.primitives is None


def test_less_than_asked_is_said_once(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with TrainingLog(2) as log:
        train(toy_config(steps=2, tasks=7, rows=41), toy_tasks(), tmp_path, log)
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: tasks is 7, but there are 6 training tasks: a step has all of them",
        "note: rows is 41, but 6 of 6 training tasks have fewer examples (40): these give all that they have",
    ]
    assert all("step" in record for record in records(tmp_path))
    seen: list[Mapping[str, Any]] = []
    folder = tmp_path / "other"
    folder.mkdir()
    train(toy_config(steps=2, tasks=6, rows=40), toy_tasks(), folder, seen.append)
    assert not any("note" in record for record in seen)


def test_a_method_that_looks_at_no_primitives_takes_tasks_with_any(
    toy_tasks: MakeTasks, tmp_path: Path
) -> None:
    tasks = toy_tasks(compositional=True)
    known = tuple(replace(task, primitives=("p0",)) for task in tasks.valid)
    tasks = replace(tasks, splits=dict(tasks.splits) | {"valid": known})
    config = Config.from_preset("smoke", "nearest", shots=(1,))
    check(config, tasks)
    learner = Learner.of(train(config, tasks, tmp_path, ignore).saved())
    assert learner.predict(learner.adapt([([1, 2, 3], "a"), ([4, 4, 4], "b")]), [[1, 2, 4]]) == ["a"]
