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
from tam.training.loop import train
from tam.training.preflight import check_device, prepare, real_device
from tam.training.trainer import Trainer
from tests.training.run_folder import records
from tests.training.toys import ignore, toy_config, toy_tasks


@pytest.mark.parametrize(
    ("options", "kind", "about"),
    [
        ({"backbone": "lstm"}, "transduction", "LSTM"),
        ({"backbone": "lstm", "conditioning": "norm"}, "classification", "LSTM"),
        ({"heads": 3}, "classification", "heads"),
        ({"use_primitives": True}, "classification", "primitives"),
        ({"device": "cuda"}, "classification", "no GPU"),
        ({"layers": 10**12}, "classification", "layers"),
        ({"method": "matching", "shots": (1,)}, "transduction", "matching is for classification"),
        ({"method": "snail", "shots": (2,), "rows": 6}, "classification", "rows"),
        ({"shots": (30,)}, "classification", "valid task 'valid 0' has too few examples"),
    ],
)
def test_settings_that_do_not_go_with_the_tasks_are_errors(
    options: dict[str, Any], kind: str, about: str
) -> None:
    with pytest.raises(UserError, match=about):
        prepare(toy_config(**options), toy_tasks(kind))


@pytest.mark.parametrize(
    "options",
    [
        {"support": "mixed"},
        {"support": "mixed", "small_share": 0.0},
        {"small_share": 0.5},
        {"bottleneck": 4},
        {"use_primitives": False},
        {"backbone": "lstm", "heads": 8},
        {"method": "multitask", "unknown_share": 0.5},
        {"method": "snail", "shots": (2,), "episode_queries": 99},
        {"conditioning": "adapter", "bottleneck": 2},
        {"conditioning": "norm"},
    ],
)
def test_every_model_trains_and_a_setting_may_have_no_effect(options: dict[str, Any], tmp_path: Path) -> None:
    setup = prepare(toy_config(steps=2, **options), toy_tasks())
    before = Trainer(setup, tmp_path).model.state_dict()
    for name, after in train(setup, tmp_path, ignore).model.state_dict().items():
        assert after.isfinite().all()
        assert not torch.equal(after, before[name])


@pytest.mark.parametrize(
    ("split", "primitives", "message"),
    [
        ("train", ("p0",), "task 'changed' has 1 primitives, and task 'train 0' has 2"),
        ("valid", ("p0", "q0", "q1"), "task 'changed' has 3"),
        ("valid", ("p0", "q0"), "task 'changed', not for training: .* 0 of"),
        ("test", ("new", "newer"), r"2 of \['new', 'newer'\]: .* use_primitives"),
    ],
)
def test_primitives_are_checked_before_a_run_starts(
    split: str, primitives: tuple[str, ...], message: str
) -> None:
    tasks = toy_tasks(compositional=True)
    *others, last = tasks.splits[split]
    changed = replace(last, name="changed", primitives=primitives)
    splits = dict(tasks.splits) | {split: (*others, changed)}
    with pytest.raises(UserError, match=message):
        prepare(toy_config(), replace(tasks, splits=splits))


def test_a_setup_follows_from_settings_and_tasks() -> None:
    tasks = toy_tasks(compositional=True)
    with pytest.raises(UserError, match="'norm'"):
        prepare(toy_config(conditioning="norm"), tasks)
    setup = prepare(toy_config(), tasks)
    assert setup.primitives == {"p0": 0, "p1": 1, "q0": 2, "q1": 3, "q2": 4}  # not the unseen one
    spec = setup.spec
    assert (spec.primitives, spec.slots, spec.max_x, spec.classes, spec.vocabulary) == (5, 2, 3, 3, 5)
    untold = prepare(toy_config(use_primitives=False), tasks)
    assert (untold.primitives, untold.spec.primitives) == (None, 0)
    assert prepare(toy_config("multitask"), toy_tasks()).spec.tasks == 6


def test_less_than_asked_is_said_once(tmp_path: Path) -> None:
    seen: list[Mapping[str, Any]] = []
    train(prepare(toy_config(steps=2, tasks=7, rows=41), toy_tasks()), tmp_path, seen.append)
    notes = [record["note"] for record in seen if "note" in record]
    assert [note.split()[0] for note in notes] == ["tasks", "rows"]
    assert all("step" in record for record in records(tmp_path))
    folder = tmp_path / "other"
    folder.mkdir()
    seen.clear()
    train(prepare(toy_config(steps=2, tasks=6, rows=40), toy_tasks()), folder, seen.append)
    assert not any("note" in record for record in seen)


def test_test_tasks_are_for_runs_alone_and_their_primitives_for_methods_that_take_any() -> None:
    tasks = replace(toy_tasks(), splits=dict(toy_tasks().splits) | {"test": toy_tasks(size=4).test})
    prepare(toy_config(), tasks, with_test=False)
    with pytest.raises(UserError, match="test task 'test 0' has too few examples"):
        prepare(toy_config(), tasks)
    tasks = toy_tasks(compositional=True)
    known = tuple(replace(task, primitives=("p0",)) for task in tasks.valid)
    tasks = replace(tasks, splits=dict(tasks.splits) | {"valid": known})
    prepare(Config.from_preset("smoke", "nearest", shots=(1,)), tasks)


def test_the_device_is_one_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = prepare(toy_config(precision="bfloat16"), toy_tasks())
    assert setup.config == toy_config()
    assert setup.notes == ("precision is float32: bfloat16 needs a GPU",)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for is_there, device in ((False, "cpu"), (True, "cuda")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=is_there: there)
        assert real_device("auto") == Learner().config.device == device
    assert real_device("cuda:1") == "cuda:1"
    for there in ("cpu", "cuda", "cuda:0", "cuda:1"):
        check_device(there)
    for missing in ("cuda:2", "cuda:x", "cuda:", "cuda:-1", "cuda:01"):
        with pytest.raises(UserError, match=f"cuda:0 to cuda:1.*'{missing}'"):
            check_device(missing)
