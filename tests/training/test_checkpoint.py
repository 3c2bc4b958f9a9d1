"""Checkpoints: written whole or not at all, and what is damaged is a clear error."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tam.errors import UserError
from tam.training.checkpoint import read_tensors, write_tensors
from tam.training.folder import best_file, checkpoint_file
from tam.training.preflight import prepare
from tam.training.trainer import Trainer
from tests.training.toys import toy_config, toy_tasks, train_in


def _without_optimiser(path: Path) -> None:
    tensors, header = read_tensors(path)
    write_tensors(path, {k: v for k, v in tensors.items() if k.startswith("model.")}, header)


def _with(**changed: torch.Tensor) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        tensors, header = read_tensors(path)
        write_tensors(path, tensors | {k.replace("_", "."): v for k, v in changed.items()}, header)

    return damage


DAMAGES: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"\x80\x04not a checkpoint" * 100),
    "weights alone": _without_optimiser,
    "no header": lambda path: write_tensors(path, read_tensors(path)[0], {}),
    "other model": _with(model_places=torch.zeros(3)),
    "other optimiser": _with(adam_mean=torch.zeros(3)),
    "other numbers": _with(generator=torch.zeros(3, dtype=torch.uint8)),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_checkpoint_is_an_error(how: str, tmp_path: Path) -> None:
    trainer = Trainer(prepare(toy_config(), toy_tasks()), tmp_path)
    trainer.step()
    trainer.write_checkpoint()
    Trainer(prepare(toy_config(), toy_tasks()), tmp_path).read_checkpoint()
    DAMAGES[how](checkpoint_file(tmp_path))
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: .*(damaged|another model)"):
        train_in(tmp_path)


BEST = [1, [0.5, 0.5], [1, 0.1]]


def test_a_checkpoint_s_header_is_checked(tmp_path: Path) -> None:
    train_in(tmp_path, toy_config(steps=1))
    path = checkpoint_file(tmp_path)
    tensors, header = read_tensors(path)
    changes: list[dict[str, Any]] = [
        {"step": None},
        {"seconds": 10**400},
        {"best": {"one": BEST}},
        {"best": {"1": BEST[:2]}},
        {"best": {"1": [1, ["a", 0.5], [1, 0.1]]}},
        {"config": 3},
    ]
    for change in changes:
        write_tensors(path, tensors, header | change)
        with pytest.raises(UserError, match=r"checkpoint\.safetensors: "):
            Trainer(prepare(toy_config(steps=1), toy_tasks()), tmp_path).read_checkpoint()


def test_the_best_weights_say_how_they_validated(tmp_path: Path) -> None:
    trainer = train_in(tmp_path, toy_config(steps=1))
    path = best_file(tmp_path, 1)
    tensors, header = read_tensors(path)
    assert header == {"best": trainer.state.best[1].to_json()}
    for best in (None, BEST[:2]):
        write_tensors(path, tensors, {"best": best})
        with pytest.raises(UserError, match=r"best-1\.safetensors: .*validation"):
            Trainer(prepare(toy_config(steps=1), toy_tasks()), tmp_path).read_checkpoint()
