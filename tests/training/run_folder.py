"""What a run has left in its folder, and values as they read from there."""

import json
from pathlib import Path
from typing import Any

import torch

from tam.training.checkpoint import read_tensors


def weights(folder: Path, file: str = "model.safetensors") -> dict[str, torch.Tensor]:
    return read_tensors(folder / file)[0]


def assert_same_weights(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> None:
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def records(folder: Path) -> list[dict[str, Any]]:
    """The metrics, without the times, which are never the same."""
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


def plain(values: object) -> object:
    """Values as JSON has them."""
    return json.loads(json.dumps(values))
