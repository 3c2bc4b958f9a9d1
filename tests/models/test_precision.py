"""A model computes in its own precision, whoever calls it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tam.methods import weights
from tam.models import Batch, Model, ModelSpec, Transformer, build_model, place_model, precision, transformer
from tests.models.conftest import DECODER, ENCODER

Make = Callable[..., Batch]
MakeModel = Callable[..., Model]
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
    known = model.with_prefix(batch)
    return [*known.prefix, model(z, known), model(z, batch)]


@pytest.mark.filterwarnings("ignore:TF32 acceleration")  # said by torch whenever these flags are set
@pytest.mark.parametrize("name", NETWORKS)
def test_it_is_as_if_all_were_under_autocast(
    name: str, make_batch: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_on_a_cpu_it_is_always_float32(make_batch: Make) -> None:
    model, batch = build_model(ENCODER, torch.Generator().manual_seed(0)), make_batch(ENCODER)
    expected = results(model, batch)
    assert place_model(model, "cpu", "bfloat16") is model
    assert model.precision == "bfloat16"
    assert not model.fused
    for ours, theirs in zip(results(model, batch), expected, strict=True):
        assert torch.equal(ours, theirs)


def test_on_a_gpu_it_is_autocast_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[tuple[object, ...], dict[str, object]]] = []
    monkeypatch.setattr(torch, "autocast", lambda *args, **kwargs: given.append((args, kwargs)))
    for name, is_cuda in (("float32", True), ("bfloat16", False), ("bfloat16", True)):
        model: Any = SimpleNamespace(precision=name, places=SimpleNamespace(is_cuda=is_cuda))
        precision.autocast(model)
    assert given == [(("cuda", torch.bfloat16), {"cache_enabled": False})]


@pytest.mark.parametrize(("device", "backbone"), [("cuda", "transformer"), ("cuda:1", "lstm")])
def test_a_model_on_a_gpu_may_use_kernels(
    device: str, backbone: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []
    monkeypatch.setattr(torch.cuda, "set_device", calls.append)
    monkeypatch.setattr(torch, "set_float32_matmul_precision", calls.append)
    monkeypatch.setattr(nn.Module, "to", lambda self, where: (self, calls.append(where))[0])
    model = place_model(
        build_model(replace(ENCODER, backbone=backbone), torch.Generator()), device, "float32"
    )
    assert model.fused == (backbone == "transformer")
    where = torch.device(device)
    assert calls == ["high", where] if where.index is None else [where, "high", where]


def test_kernels_are_left_out_where_a_second_derivative_is_taken(make_model: MakeModel) -> None:
    model = make_model(ENCODER)
    with model.twice_differentiable():
        assert not model.fused
    assert not model.fused
    model.fused = True
    with model.twice_differentiable():
        assert not model.fused
    assert model.fused


def test_kernels_are_left_out_where_tasks_have_weights_of_their_own(
    make_model: MakeModel, make_batch: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all conditions met but one: that all tasks have the same weights."""
    model, batch = make_model(DECODER), make_batch(DECODER)
    own = weights.copies(model, batch.tasks, model.blank(batch.tasks))
    expected = weights.outcomes(model, own, batch)
    assert isinstance(model.backbone, Transformer)
    monkeypatch.setattr(transformer, "can_fuse", lambda hidden, heads: True)
    model.backbone.fused = model.backbone.kernels = True
    assert model.backbone.can_fuse(model.places.unsqueeze(0))
    torch.testing.assert_close(weights.outcomes(model, own, batch), expected)
