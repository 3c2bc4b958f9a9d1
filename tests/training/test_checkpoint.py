"""Checkpoints: written whole or not at all, and what is damaged is a clear error."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tam.errors import UserError
from tam.training.checkpoint import read_tensors, write_tensors
from tam.training.folder import best_file, checkpoint_file
from tam.training.loop import train
from tam.training.trainer import Trainer
from tests.training.toys import MakeConfig, MakeTasks, ignore


def _damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    tensors, header = read_tensors(path)
    if how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "garbage":
        path.write_bytes(b"\x80\x04not a checkpoint" * 100)
    elif how == "weights alone":
        write_tensors(path, {k: v for k, v in tensors.items() if k.startswith("model.")}, header)
    elif how == "no header":
        write_tensors(path, tensors, {})
    elif how == "other model":
        write_tensors(path, {k: v for k, v in tensors.items() if k != "model.places"}, header)
    elif how == "other optimiser":
        write_tensors(path, tensors | {"adam.mean": torch.zeros(3)}, header)
    elif how == "other numbers":
        write_tensors(path, tensors | {"generator": torch.zeros(3, dtype=torch.uint8)}, header)


@pytest.mark.parametrize(
    "how",
    [
        "truncated",
        "empty",
        "garbage",
        "weights alone",
        "no header",
        "other model",
        "other optimiser",
        "other numbers",
    ],
)
def test_a_damaged_checkpoint_is_a_clear_error(
    how: str, toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    trainer = Trainer(toy_config(), toy_tasks(), tmp_path)
    trainer.step()
    trainer.write_checkpoint()
    Trainer(toy_config(), toy_tasks(), tmp_path).read_checkpoint()
    _damage(checkpoint_file(tmp_path), how)
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: .*(damaged|another model)"):
        train(toy_config(), toy_tasks(), tmp_path, ignore)


BEST = [1, [0.5, 0.5], [1, 0.1]]
WRONG_HEADERS: list[tuple[dict[str, Any], str]] = [
    ({"step": None}, "steps are integers of at least 0"),
    ({"step": -1}, "steps are integers of at least 0"),
    ({"step": True}, "steps are integers of at least 0"),
    ({"seconds": None}, "seconds, scores and rates are numbers"),
    ({"seconds": -1.0}, "seconds are finite and at least 0"),
    ({"best": None}, "NoneType"),
    ({"best": {"one": BEST}}, "'one'"),
    ({"best": {"1": BEST[:2]}}, "not enough values"),
    ({"best": {"1": ["1", *BEST[1:]]}}, "steps are integers"),
    ({"best": {"1": [1, [0.5], [1, 0.1]]}}, "not enough values"),
    ({"best": {"1": [1, ["a", 0.5], [1, 0.1]]}}, "scores and rates are numbers"),
    ({"best": {"1": [1, [0.5, 0.5], [1]]}}, "Choice"),
    ({"config": 3}, "its config is an object, not 3"),
]


def test_a_checkpoint_s_header_is_checked(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    train(toy_config(steps=1), toy_tasks(), tmp_path, ignore)
    path = checkpoint_file(tmp_path)
    tensors, header = read_tensors(path)
    for change, message in WRONG_HEADERS:
        write_tensors(path, tensors, header | change)
        with pytest.raises(UserError, match=rf"checkpoint.safetensors: .*{message}"):
            Trainer(toy_config(steps=1), toy_tasks(), tmp_path).read_checkpoint()


def test_the_best_weights_say_how_they_validated(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    trainer = train(toy_config(steps=1), toy_tasks(), tmp_path, ignore)
    path = best_file(tmp_path, 1)
    tensors, header = read_tensors(path)
    assert header == {"best": trainer.state.best[1].to_json()}
    for best in (None, BEST[:2], [1.5, *BEST[1:]]):
        write_tensors(path, tensors, {"best": best})
        with pytest.raises(UserError, match=r"best-1.safetensors: not the weights of a validation"):
            Trainer(toy_config(steps=1), toy_tasks(), tmp_path).read_checkpoint()


def test_files_appear_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.safetensors"
    write_tensors(path, {"a": torch.ones(2)}, {"step": 1})
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(UserError, match=r"some.safetensors: cannot be written: no space"):
            write_tensors(path, {"a": torch.zeros(2)}, {"step": 2})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["some.safetensors"]
