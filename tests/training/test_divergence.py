"""Numbers that are none: a loss that is nan or infinite ends a run, and harms no file of it."""

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
from tam.training.loop import train
from tam.training.preflight import prepare
from tam.training.trainer import DivergedError, Trainer
from tests.training.run_folder import assert_same_weights, records, weights
from tests.training.toys import MakeConfig, MakeTasks, ignore


def test_divergence_says_where_and_what_to_try(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    config = toy_config(rate=1e30, warmup=0, checkpoint_every=1)
    with pytest.raises(DivergedError, match=r"step 2: loss nan.*rate .*e\+.*smaller rate"):
        train(prepare(config, toy_tasks()), tmp_path, ignore)
    assert [record["step"] for record in records(tmp_path)] == [1]
    assert read_tensors(checkpoint_file(tmp_path))[1]["step"] == 1


@pytest.mark.parametrize("kind", ["classification", "transduction"])
def test_divergence_in_the_last_step_is_an_error_too(
    kind: str, toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    """Its loss is from before it moves the weights: what they then compute, validation sees."""
    config = toy_config(rate=1e30, warmup=0, steps=1)
    with pytest.raises(DivergedError, match=r"step 1: .*validation"):
        train(prepare(config, toy_tasks(kind)), tmp_path, ignore)
    assert not list(tmp_path.glob("*.safetensors"))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_after_divergence_the_last_good_checkpoint_stays(
    value: float,
    toy_tasks: MakeTasks,
    toy_config: MakeConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "diverged"
    for place in (whole, folder):
        place.mkdir()
    train(prepare(toy_config(), toy_tasks()), whole, ignore)
    step = Trainer.step

    def poisoned(self: Trainer) -> Losses:
        losses = step(self)
        if self.state.step == 4:
            with torch.no_grad():
                next(self.model.parameters()).fill_(value)
            return losses._replace(end=torch.tensor(value))
        return losses

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "step", poisoned)
        with pytest.raises(DivergedError, match="step 4"):
            train(prepare(toy_config(), toy_tasks()), folder, ignore)
    assert read_tensors(checkpoint_file(folder))[1]["step"] == 2
    train(prepare(toy_config(), toy_tasks()), folder, ignore)
    assert_same_weights(weights(folder), weights(whole))
    assert records(folder) == records(whole)


def test_a_stop_between_two_looks_writes_nothing_that_is_no_number(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU, losses are looked at every few steps; Ctrl-C may come after any."""
    step = Trainer.step

    def poisoned(self: Trainer) -> Losses:
        losses = step(self)
        if self.state.step == 3:
            with torch.no_grad():
                next(self.model.parameters()).fill_(math.nan)
            signal.raise_signal(signal.SIGINT)
            return losses._replace(end=torch.tensor(math.nan))
        return losses

    monkeypatch.setattr(Trainer, "step", poisoned)
    monkeypatch.setattr(loop, "_look_every", lambda _: 10)
    with pytest.raises(DivergedError, match="step 3"):
        train(prepare(toy_config(validate_every=6), toy_tasks()), tmp_path, ignore)
    assert read_tensors(checkpoint_file(tmp_path))[1]["step"] == 2


def test_an_infinite_perplexity_is_taken_up_as_such(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, tasks = toy_config(steps=3), toy_tasks("transduction")
    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "_task_score", lambda *_: TaskScore(0.0, math.inf))
        train(prepare(config, tasks), tmp_path, ignore)
    assert read_tensors(checkpoint_file(tmp_path))[1]["best"]["1"][1] == [None, 0.0]
    trainer = Trainer(prepare(config, tasks), tmp_path)
    trainer.read_checkpoint()
    assert trainer.state.best[1].quality == (math.inf, 0.0)
    trainer.validate()
    assert trainer.state.best[1].quality[0] < math.inf


def test_a_blank_loss_that_is_infinite_is_null(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Trainer.step
    monkeypatch.setattr(Trainer, "step", lambda self: step(self)._replace(start=torch.tensor(math.inf)))
    train(prepare(toy_config(steps=1), toy_tasks()), tmp_path, ignore)
    assert records(tmp_path)[0]["blank_loss"] is None
