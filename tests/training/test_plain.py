"""Training gives the same losses with the engines, without them, and where torch lacks what they need."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tam.models.fast import context, cpu_block
from tam.models.fast.engine import engine
from tam.training.preflight import prepare
from tam.training.trainer import Trainer
from tests.training.toys import toy_config, toy_tasks

pytestmark = pytest.mark.slow

STEPS = 3


class Without:
    """Torch's private functions without one of them."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name == self._name:
            raise AttributeError(name)
        return getattr(torch._C, name)  # pyright: ignore[reportPrivateUsage]


@pytest.fixture(params=["classification", "transduction"])
def train(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Trains TAM for a few steps, and returns the losses."""
    tasks, config = toy_tasks(request.param), toy_config(layers=2)

    def run() -> list[float]:
        trainer = Trainer(prepare(config, tasks), tmp_path)
        return [float(trainer.step().end) for _ in range(STEPS)]

    return run


def count_blocks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows with every block that the CPU engine computes."""
    calls: list[int] = []
    run = cpu_block.run
    monkeypatch.setattr(cpu_block, "run", lambda *given: (calls.append(1), run(*given))[1])
    return calls


@pytest.mark.parametrize("name", ["_current_graph_task_id", "_functorch", "_stash_obj_in_tls"])
def test_without_a_private_function_of_torch_plain_code_runs(
    name: str, train: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count_blocks(monkeypatch)
    losses = train()
    assert calls
    calls.clear()
    with monkeypatch.context() as patch:
        patch.setattr(context, "_C", Without(name))
        assert engine(torch.ones(1)) == "plain"
        without = train()
    assert engine(torch.ones(1)) == "cpu"
    assert not calls
    assert without == pytest.approx(losses, abs=1e-5)


def test_the_environment_turns_the_engines_off() -> None:
    code = "import torch; from tam.models.fast.engine import engine; print(engine(torch.ones(1)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"TAM_PLAIN": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["plain"]
