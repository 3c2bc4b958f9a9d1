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
from tam.training.trainer import DivergedError, Trainer
from tests.training.run_folder import assert_same_weights, records, weights
from tests.training.toys import ignore, toy_config, toy_tasks


def test_divergence_says_where_and_what_to_try(tmp_path: Path) -> None:
    config = toy_config(rate=1e30, warmup=0, checkpoint_every=1)
    with pytest.raises(DivergedError, match=r"step 2: loss nan"):
        train(config, toy_tasks(), tmp_path, ignore)
    assert [record["step"] for record in records(tmp_path)] == [1]
    assert read_tensors(checkpoint_file(tmp_path))[1]["step"] == 1


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_after_divergence_the_last_good_checkpoint_stays(
    value: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "diverged"
    for place in (whole, folder):
        place.mkdir()
    train(toy_config(), toy_tasks(), whole, ignore)
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
            train(toy_config(), toy_tasks(), folder, ignore)
    assert read_tensors(checkpoint_file(folder))[1]["step"] == 2
    train(toy_config(), toy_tasks(), folder, ignore)
    assert_same_weights(weights(folder), weights(whole))
    assert records(folder) == records(whole)


def test_a_stop_between_two_looks_writes_nothing_that_is_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
        train(toy_config(validate_every=6), toy_tasks(), tmp_path, ignore)
    assert read_tensors(checkpoint_file(tmp_path))[1]["step"] == 2


def test_an_infinite_perplexity_is_taken_up_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, tasks = toy_config(steps=3), toy_tasks("transduction")
    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "_task_score", lambda *_: TaskScore(0.0, math.inf))
        train(config, tasks, tmp_path, ignore)
    assert read_tensors(checkpoint_file(tmp_path))[1]["best"]["1"][1] == [None, 0.0]
    trainer = Trainer(config, tasks, tmp_path)
    trainer.read_checkpoint()
    assert trainer.state.best[1].quality == (math.inf, 0.0)
    trainer.validate()
    assert trainer.state.best[1].quality[0] < math.inf


def test_a_blank_loss_that_is_infinite_is_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Trainer.step
    monkeypatch.setattr(Trainer, "step", lambda self: step(self)._replace(start=torch.tensor(math.inf)))
    train(toy_config(steps=1), toy_tasks(), tmp_path, ignore)
    assert records(tmp_path)[0]["blank_loss"] is None
