"""Steps that are recorded and replayed, as on a GPU, give the same numbers as a plain loop."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from tam.config.config import Config
from tam.methods import Losses, make_method, replay, search
from tam.methods.replay import recorder_for, repeat
from tam.methods.search import Descent, Search
from tam.models import ModelSpec
from tests.methods.rerun import OnGpu, Rerun
from tests.methods.test_search import bowls
from tests.models.conftest import make_batch, make_model
from tests.models.test_device import NoReadBack


@pytest.mark.parametrize("kind", [Descent, Search])
@pytest.mark.parametrize("rate", [0.3, torch.tensor([0.01, 0.1, 1.0])])
@pytest.mark.parametrize("patience", [None, 2])
def test_a_search_that_is_replayed_finds_the_same(
    kind: type[Descent], rate: float | Tensor, patience: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, steps = torch.ones(1, 2, dtype=torch.float64).expand(3, -1), [7, 0, 2, 30, 1]
    expected = kind(start, rate, patience).follow(bowls, steps)
    recorded = kind(start, rate, patience)
    monkeypatch.setattr(search, "recorder_for", lambda *_: Rerun(recorded))
    found = recorded.follow(bowls, steps)
    for ours, plain in zip(found, expected, strict=True):
        assert torch.equal(ours, plain)
    assert start.eq(1).all()
    assert len({state.data_ptr() for state in found}) == len(steps)


METHODS: dict[str, dict[str, object]] = {
    "tam": {},
    "cavia": {},
    "maml": {},
    "agnostic": {},
    "multitask": {"finetune": "all"},
    "multitask, embedding": {"finetune": "embedding"},
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_adapt_the_same(name: str, plain_spec: ModelSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no value is read back."""
    method = make_method(Config.of(name.partition(",")[0]).override(**METHODS[name]))
    model = make_model(method.spec(plain_spec, 3)).float()
    batch, steps, rate = make_batch(plain_spec, 3, 5), [3, 9, 12], torch.tensor([0.01, 0.1, 0.5])
    with NoReadBack():
        plain = method.adapt(model, batch, steps, rate)
        method.outcomes(model, plain[0], batch)
    recorders: list[Rerun] = []

    def double(owner: object, change: Callable[[], None], times: int, _: object) -> Iterator[int]:
        recorders.append(Rerun(owner))
        return repeat(owner, change, times, recorders[0])

    monkeypatch.setattr(search, "recorder_for", lambda *_: Rerun(None))
    monkeypatch.setattr(search, "repeat", double)
    for ours, expected in zip(method.adapt(model, batch, steps, rate), plain, strict=True):
        assert torch.equal(ours, expected)
        assert not ours.requires_grad
    (recorder,) = recorders
    assert recorder.calls == ["run"] * 2 + ["record"] + ["replay"] * 11 + ["free"]


def test_the_first_outer_steps_run_and_the_others_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Steps:
        done = torch.zeros(())

        def step(self) -> Losses:
            self.done += 1
            return Losses(self.done + 0, 2 * self.done, torch.zeros(()))

    steps = Steps()
    recorder = Rerun(steps)
    monkeypatch.setattr(replay, "CudaRecorder", lambda _: recorder)
    captured = replay.CapturedStep(steps.step, torch.Generator())
    for number in range(1, 7):
        assert [float(value) for value in captured().means] == [number, 2 * number, 0]
    assert recorder.calls == ["run"] * 3 + ["record"] + ["replay"] * 3


def test_steps_are_recorded_on_a_gpu_if_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor, made = torch.zeros(1).as_subclass(OnGpu), Rerun(None)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(replay, "CudaRecorder", lambda: made)
    assert recorder_for(torch.zeros(1), 200) is None
    assert recorder_for(tensor, 7) is None
    assert recorder_for(tensor, 8) is made
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert recorder_for(tensor, 8) is None
