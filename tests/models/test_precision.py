"""A model computes in its own precision, whoever calls it."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tam.models import Batch, Model, ModelSpec, build_model, place_model, precision
from tests.models.conftest import DECODER, ENCODER, make_batch

NETWORKS: dict[str, ModelSpec] = {
    "encoder": ENCODER,
    "decoder": DECODER,
    "lstm": replace(ENCODER, backbone="lstm"),
    "pairs": replace(ENCODER, purpose="answer from pairs", conditioning="none"),
    "compare": replace(ENCODER, purpose="compare", conditioning="none"),
    "embed": replace(ENCODER, purpose="embed", conditioning="none"),
}


def half() -> AbstractContextManager[Any]:
    return torch.autocast("cpu", torch.bfloat16, cache_enabled=False)


def results(model: Model, batch: Batch) -> list[Tensor]:
    """All that a model computes: what it makes of x alone, and what follows from it; and without."""
    z = model.blank(batch.tasks).unsqueeze(1) + 0.3 if model.task_size else None
    cached = model.with_x_cache(batch)
    return [*cached.x_cache, model(z, cached), model(z, batch)]


@pytest.mark.filterwarnings("ignore:TF32 acceleration")  # said by torch whenever these flags are set
@pytest.mark.parametrize("name", NETWORKS)
def test_it_is_as_if_all_were_under_autocast(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = NETWORKS[name]
    batch = replace(make_batch(spec), support=make_batch(spec, seed=1))
    model = build_model(spec, torch.Generator().manual_seed(0))
    monkeypatch.setattr(
        precision, "autocast", lambda model: half() if model.precision == "bfloat16" else nullcontext()
    )
    # Without oneDNN, whose bfloat16 kernels crash on virtual machines that hide the tiles they announce.
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False):
        single = results(model, batch)
        with half():
            expected = results(model, batch)
        model.precision = "bfloat16"
        found = results(model, batch)
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours, theirs)
    assert not torch.equal(found[-1], single[-1])


def test_on_a_cpu_it_is_always_float32() -> None:
    model, batch = build_model(ENCODER, torch.Generator().manual_seed(0)), make_batch(ENCODER)
    expected = results(model, batch)
    assert place_model(model, "cpu", "bfloat16") is model
    assert model.precision == "bfloat16"
    for ours, theirs in zip(results(model, batch), expected, strict=True):
        assert torch.equal(ours, theirs)


def test_on_a_gpu_it_is_autocast_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[tuple[object, ...], dict[str, object]]] = []
    monkeypatch.setattr(torch, "autocast", lambda *args, **kwargs: given.append((args, kwargs)))
    for name, is_cuda in (("float32", True), ("bfloat16", False), ("bfloat16", True)):
        model: Any = SimpleNamespace(precision=name, places=SimpleNamespace(is_cuda=is_cuda))
        precision.autocast(model)
    assert given == [(("cuda", torch.bfloat16), {"cache_enabled": False})]


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_model_is_placed_on_a_gpu(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(torch.cuda, "set_device", calls.append)
    monkeypatch.setattr(torch, "set_float32_matmul_precision", calls.append)
    monkeypatch.setattr(nn.Module, "to", lambda self, where: (self, calls.append(where))[0])
    place_model(build_model(ENCODER, torch.Generator()), device, "float32")
    where = torch.device(device)
    assert calls == ["high", where] if where.index is None else [where, "high", where]
