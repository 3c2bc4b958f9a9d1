"""Our kernels, in Triton's interpreter, against plain code in float64."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tam.models import ModelSpec, Transformer, build_model, twice_differentiable
from tam.models.attention import Mask
from tam.models.fast import engine, gpu_device
from tam.models.fast.context import plain
from tam.models.fast.gpu_blocks import in_rows, takes, takes_cache
from tam.training.adam import Adam

pytestmark = pytest.mark.slow

pytest.importorskip("triton")

HERE = Path(__file__).parent
CASES = [  # see `Case` in benchmarks/agreement.py
    (11, 6, 32, 2, 2, False, True, 0, 1),
    (7, 11, 16, 1, 2, True, True, 5),
    (3, 20, 16, 1, 1, True, False),
    (1, 2, 32, 2, 1, False, False),
    (1, 70, 16, 1, 1, True, True),
    (7, 6, 32, 2, 1, True, False, 0, None, 5),
    (9, 4, 16, 1, 2, True, True, 1, None, 7),
    (2, 3, 16, 1, 1, True, False, 1, None, 33),
]


def run_script(name: str, *arguments: str, **environment: str) -> str:
    """What a script of this folder prints, on one thread; an error if it fails."""
    path = os.pathsep.join([str(HERE.parents[1] / "benchmarks"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, HERE / name, *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def interpreted(name: str, *arguments: str) -> dict[str, list[float]]:
    """The errors that a script prints in Triton's interpreter, which is chosen when Triton is imported."""
    return json.loads(run_script(name, *arguments, TRITON_INTERPRET="1"))


def assert_below(most: float, errors: list[float]) -> None:
    """Also that there are errors, and none is NaN."""
    assert errors
    assert all(error < most for error in errors), errors


def test_kernels_equal_plain_code() -> None:
    errors = interpreted("interpret.py", json.dumps(CASES))
    assert_below(5e-5, errors["step"])
    assert_below(5e-6, errors["blocks"])


def test_kernels_compile_for_a_gpu(triton_cache: Path) -> None:
    from tam.models.fast import kernels

    output = run_script("compile_kernels.py", TRITON_CACHE_DIR=str(triton_cache))
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
    weights = list(model.backbone.blocks.parameters())
    expected = torch.stack([torch.cat([w.flatten() for w in part]) for part in (weights[:14], weights[14:])])
    rows = in_rows(weights)
    assert torch.equal(rows, expected)
    rows.zero_()
    assert all(bool(weight.eq(0).all()) == trained for weight in weights if weight.dim() == 2)


def test_losses_and_searches_equal_plain_code() -> None:
    errors = interpreted("interpret_scoring.py")
    assert_below(5e-6, errors["scores"])
    assert errors["silent zeros"] == [0, 0]
    assert_below(1e-4, errors["embeddings"])
    assert_below(2e-6, errors["losses"])


def test_adam_equals_plain_code() -> None:
    errors = interpreted("interpret_adam.py")
    assert_below(1e-6, errors["moves"] + errors["searches"])


@pytest.mark.parametrize(
    ("capability", "room", "run"),
    [((8, 9), 100, False), ((9, 0), 228, True), ((10, 0), 228, True), ((12, 0), 100, False)],
)
def test_blocks_run_on_gpus_that_have_room(
    capability: tuple[int, int], room: int, run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = SimpleNamespace(shared_memory_per_multiprocessor=1024 * room)
    monkeypatch.setattr(gpu_device, "triton_runs_here", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    gpu_device.blocks_run_on.cache_clear()
    tensor: Any = SimpleNamespace(is_cuda=True, device=torch.device("cuda"), dtype=torch.float32)
    assert engine.engine(tensor) == ("gpu" if run else "plain")
    with twice_differentiable():
        assert engine.engine(tensor) == "plain"
    with plain():
        assert engine.engine(tensor) == "plain"
        assert not engine.has_kernels(tensor)
    assert engine.has_kernels(tensor)
    gpu_device.blocks_run_on.cache_clear()


def test_what_is_too_much_is_not_cached() -> None:
    network: Any = SimpleNamespace(blocks=[None] * 4, norm=SimpleNamespace(scale=torch.zeros(128)))
    assert takes_cache(network, 4800, 64)
    assert not takes_cache(network, 4800, 65)
    assert not takes_cache(network, 2**31 // (4 * 2 * 128 * 64), 64)


def test_blocks_follow_a_cached_x_that_sees_all_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda _: True)
    network = Transformer(layers=2, width=32, heads=2, generator=torch.Generator())
    hidden, cache = torch.zeros(2, 3, 32), [torch.zeros(2, 2, 2, 2, 5, 16)]
    causal = Mask(torch.arange(8) != torch.tensor([[4], [9]]), causal=True)
    full = causal._replace(front=5)
    for mask, taken in ((causal, True), (full, True), (full._replace(front=6), False)):
        assert takes(network, hidden, mask, cache) == taken
    assert not takes(network, torch.zeros(2, 8, 32), full)
    torch.testing.assert_close(full.matrix(3), causal.matrix(3))
