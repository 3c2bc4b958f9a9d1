"""Outer steps that are recorded, with a double in the place of a CUDA graph."""

import pytest
import torch

from tam.methods import Losses
from tam.training import capture
from tests.methods.rerun import Rerun


class Steps:
    def __init__(self) -> None:
        self.done = torch.zeros(())

    def step(self) -> Losses:
        self.done += 1
        return Losses(self.done + 0, 2 * self.done, torch.zeros(()))


def test_the_first_steps_run_and_the_others_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps()
    recorder = Rerun(steps)
    monkeypatch.setattr(capture, "CudaRecorder", lambda _: recorder)
    captured = capture.CapturedStep(steps.step, torch.Generator())
    for number in range(1, 7):
        losses = captured()
        assert [float(value) for value in losses.means] == [number, 2 * number, 0]
        assert not any(value.requires_grad for value in losses.means)
    assert recorder.calls == ["run"] * 3 + ["record"] + ["replay"] * 3
