"""Our kernels, in Triton's interpreter, against plain code in float64."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tam.models import ModelSpec, Transformer, build_model
from tam.models.fast.gpu_blocks import can_fuse, can_see, in_rows
from tam.training.adam import Adam
from tests.models.interpreter import interpreted, run_script

pytest.importorskip("triton")

CASES = [  # see `Case` in benchmarks/agreement.py
    (7, 6, 32, 2, 1, False, False),
    (11, 6, 32, 2, 2, False, True, 0, 1),
    (7, 11, 16, 1, 2, True, True, 5),
    (3, 20, 16, 1, 1, True, False),
    (1, 2, 32, 2, 1, False, False),
    (1, 70, 16, 1, 1, True, True),
    (7, 6, 32, 2, 1, True, False, 0, None, 5),
    (9, 4, 16, 1, 2, True, True, 1, None, 7),
    (2, 3, 16, 1, 1, True, False, 1, None, 33),
]


def test_kernels_equal_plain_code() -> None:
    gathered, step, *errors = interpreted("interpret.py", json.dumps(CASES))
    assert gathered == 0
    assert step < 5e-5
    assert len(errors) == len(CASES)
    assert max(errors) < 5e-6, errors


def test_kernels_compile_for_a_gpu(tmp_path: Path) -> None:
    from tam.models.fast import kernels

    output = run_script("compile_kernels.py", TRITON_CACHE_DIR=str(tmp_path))
    lines = [line.split() for line in output.splitlines()]
    assert {name for name, _, _ in lines} == set(kernels.__all__)
    assert max(int(shared) for _, shared, _ in lines) < 227 * 1024


@pytest.mark.parametrize("trained", [True, False])
def test_weights_in_rows_are_copied_unless_an_optimiser_has_them_so(*, trained: bool) -> None:
    spec = ModelSpec(kind="transduction", vocabulary=5, max_x=4, max_y=3, layers=2, width=16, heads=1)
    model = build_model(spec, torch.Generator().manual_seed(0))
    assert isinstance(model.backbone, Transformer)
    if trained:
        Adam(model, (), 1.0)
    weights = [weight for block in model.backbone.blocks for weight in block.parameters()]
    expected = torch.stack([torch.cat([w.flatten() for w in part]) for part in (weights[:14], weights[14:])])
    rows = in_rows(weights)
    assert torch.equal(rows, expected)
    rows.zero_()
    assert all(bool(weight.eq(0).all()) == trained for weight in weights if weight.dim() == 2)


def test_weights_are_taken_in_the_order_of_an_optimiser() -> None:
    model = Transformer(layers=2, width=16, heads=1, bottleneck=None, generator=torch.Generator())
    weights = [weight for block in model.blocks for weight in block.parameters()]
    taken = model._fused_weights  # pyright: ignore[reportPrivateUsage]
    assert [id(weight) for weight in taken] == [id(weight) for weight in weights]


def test_kernels_are_for_gpus_only() -> None:
    hidden = torch.zeros(2, 3, 32)
    assert not can_fuse(hidden, heads=2)
    model = Transformer(layers=1, width=32, heads=2, bottleneck=None, generator=torch.Generator())
    model.fused = model.kernels = True
    assert not model.can_fuse(hidden)


@pytest.mark.parametrize(
    ("capability", "room", "run"),
    [((8, 9), 100, False), ((9, 0), 228, True), ((10, 0), 228, True), ((12, 0), 100, False)],
)
def test_kernels_are_for_gpus_that_have_room(
    capability: tuple[int, int], room: int, run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = ModelSpec(kind="classification", vocabulary=3, classes=2, max_x=4, layers=1, width=16, heads=1)
    model = build_model(spec, torch.Generator())
    model.fused = True
    assert not model.backbone.kernels
    properties = SimpleNamespace(shared_memory_per_multiprocessor=1024 * room)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: properties)
    model.fused = True
    assert model.backbone.kernels is model.x.fused is run
    model.fused = False
    assert not model.backbone.kernels


def test_what_is_too_much_is_not_looked_at_from_before() -> None:
    assert can_see(4800, 4, 128, 64)
    assert not can_see(4800, 4, 128, 65)
    assert not can_see(2**31 // (4 * 2 * 128 * 64), 4, 128, 64)
