"""Several processes on one run give the same weights as one."""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tam.config import Config
from tam.errors import UserError
from tam.tasks.taskset import TaskSet
from tam.training import distribution
from tam.training.checkpoint import read_tensors
from tam.training.loop import Trainer
from tam.training.run import load_tasks, read_config, run

MakeTasks = Callable[..., TaskSet]
MakeConfig = Callable[..., Config]
Start = Callable[..., "subprocess.Popen[str]"]
WriteConfig = Callable[[TaskSet, Config], Path]


def ignore(_: Mapping[str, Any]) -> None:
    """A log that keeps nothing."""


def losses(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if "loss" in record]


def test_two_processes_give_the_weights_of_one(
    toy_tasks: MakeTasks,
    toy_config: MakeConfig,
    write_config: WriteConfig,
    start_run: Start,
    tmp_path: Path,
) -> None:
    """Under torchrun, with tasks that stop by themselves, so that the processes take different counts."""
    config = toy_config(steps=4, inner_steps=4, inner_rate=1.0, patience=1, checkpoint_every=100)
    file = write_config(toy_tasks(), config)
    process = start_run(file, "--out", tmp_path / "two", processes=2)
    alone = tmp_path / "one"
    alone.mkdir()
    config, source = read_config(file)
    result = run(config, load_tasks(source), alone, ignore)
    output, errors = process.communicate(timeout=90)
    assert process.returncode == 0, errors
    one, two = (read_tensors(folder / "model.safetensors")[0] for folder in (alone, tmp_path / "two"))
    for name, value in one.items():
        other = two[name]
        if name.endswith("key_value.bias"):
            # A softmax does not see the keys' bias. Its gradient is rounding alone, which Adam makes large.
            value, other = value.chunk(2)[1], other.chunk(2)[1]
        torch.testing.assert_close(other, value, rtol=1e-6, atol=1e-6, msg=lambda m, n=name: f"{n}: {m}")
    assert [row["k"] for row in json.loads(output)] == [row["k"] for row in result["scores"]]
    records = losses(tmp_path / "two")
    assert [record["step"] for record in records] == [1, 2, 3, 4]
    assert all(1 <= record["inner_steps"] <= 4 for record in records)
    gradients = [[record["gradient"] for record in losses(folder)] for folder in (alone, tmp_path / "two")]
    assert gradients[0] == pytest.approx(gradients[1], abs=2e-4)


def test_each_process_takes_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1, 2, 4):
        monkeypatch.setattr(distribution, "world_size", lambda size=size: size)
        taken: list[int] = []
        for rank in range(size):
            monkeypatch.setattr(distribution, "rank", lambda rank=rank: rank)
            taken += range(8)[distribution.share(8)]
        assert taken == list(range(8))


def test_tasks_that_cannot_be_split_are_an_error(
    monkeypatch: pytest.MonkeyPatch, toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    monkeypatch.setattr(distribution, "world_size", lambda: 3)
    with pytest.raises(UserError, match="4 tasks a step cannot be split over 3 processes"):
        Trainer(toy_config(tasks=4), toy_tasks(), tmp_path)
    Trainer(toy_config(tasks=3), toy_tasks(), tmp_path)


def test_alone_nothing_is_summed() -> None:
    values = [torch.ones(2), torch.tensor(3.0)]
    distribution.add_up(values)
    assert values[0].tolist() == [1, 1]
    assert values[1].item() == 3
    with distribution.process_group():
        assert distribution.rank() == 0
        assert distribution.world_size() == 1
