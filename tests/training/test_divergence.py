"""A loss that is not finite ends a run, and harms none of its files."""

import math
import signal
from pathlib import Path

import pytest
import torch

from tam.evaluation import protocol as evaluation
from tam.evaluation.protocol import TaskScore
from tam.methods import Losses
from tam.training import loop
from tam.training.checkpoint import read_tensors
from tam.training.folder import checkpoint_file
from tam.training.preflight import prepare
from tam.training.trainer import DivergedError, Trainer
from tests.training.run_folder import assert_same_weights, records, weights
from tests.training.toys import toy_config, toy_tasks, train_in


def poison(patch: pytest.MonkeyPatch, at: int, value: float, *, stop: bool = False) -> None:
    """After this step, weights and loss have this value, and perhaps the run is asked to stop."""
    step = Trainer.step

    def poisoned(self: Trainer) -> Losses:
        losses = step(self)
        if self.state.step != at:
            return losses
        with torch.no_grad():
            next(self.model.parameters()).fill_(value)
        if stop:
            signal.raise_signal(signal.SIGINT)
        return losses._replace(end=torch.tensor(value))

    patch.setattr(Trainer, "step", poisoned)


def test_a_rate_that_is_too_large_diverges(tmp_path: Path) -> None:
    with pytest.raises(DivergedError, match=r"step 2: loss nan"):
        train_in(tmp_path, toy_config(rate=1e30, warmup=0, checkpoint_every=1))
    assert [record["step"] for record in records(tmp_path)] == [1]
    assert read_tensors(checkpoint_file(tmp_path))[1]["step"] == 1


@pytest.mark.parametrize("kind", ["classification", "transduction"])
def test_divergence_in_the_last_step_is_an_error_too(kind: str, tmp_path: Path) -> None:
    """Its loss is from before it moves the weights: what they then compute, validation sees."""
    config = toy_config(rate=1e30, warmup=0, steps=1)
    with pytest.raises(DivergedError, match=r"step 1: .*validation"):
        train_in(tmp_path, config, toy_tasks(kind))
    assert not list(tmp_path.glob("*.safetensors"))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_after_divergence_the_last_good_checkpoint_stays(
    value: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "diverged"
    train_in(whole)
    with monkeypatch.context() as patch:
        poison(patch, 4, value)
        with pytest.raises(DivergedError, match="step 4"):
            train_in(folder)
    assert read_tensors(checkpoint_file(folder))[1]["step"] == 2
    train_in(folder)
    assert_same_weights(weights(folder), weights(whole))
    assert records(folder) == records(whole)


def test_a_stop_between_two_readings_writes_nothing_that_is_not_finite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU, losses are read every few steps; Ctrl-C may come after any."""
    poison(monkeypatch, 3, math.nan, stop=True)
    monkeypatch.setattr(loop, "_read_every", lambda _: 10)
    with pytest.raises(DivergedError, match="step 3"):
        train_in(tmp_path, toy_config(validate_every=6))
    assert read_tensors(checkpoint_file(tmp_path))[1]["step"] == 2


def test_an_infinite_perplexity_is_taken_up_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, tasks = toy_config(steps=3), toy_tasks("transduction")
    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "task_score", lambda *_: TaskScore(0.0, math.inf))
        train_in(tmp_path, config, tasks)
    assert read_tensors(checkpoint_file(tmp_path))[1]["best"]["1"][1] == [None, 0.0]
    trainer = Trainer(prepare(config, tasks), tmp_path)
    trainer.read_checkpoint()
    assert trainer.state.best[1].quality == (math.inf, 0.0)
    trainer.validate()
    assert trainer.state.best[1].quality[0] < math.inf
