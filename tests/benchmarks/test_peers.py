"""benchmarks/peers.py at a tiny size, without the peers: it compares like with like, and hides nothing."""

import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

TINY = {
    "layers": 1,
    "width": 8,
    "heads": 2,
    "tasks": 3,
    "rows": 2,
    "tokens": 4,
    "inner_steps": 2,
    "new_tasks": 4,
}


@pytest.fixture(scope="module")
def peers(load: Callable[[str], ModuleType]) -> ModuleType:
    """benchmarks/peers.py"""
    return load("peers")


@pytest.fixture
def no_peers(peers: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in peers.PEERS:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def rows(peers: ModuleType, no_peers: None) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in peers.measure(peers.Sizes(**TINY), rounds=2)}


def test_tam_does_what_a_loop_over_tasks_does(peers: ModuleType, rows: dict[str, dict[str, Any]]) -> None:
    for name, same in (
        ("loop over tasks, Adam", "tam: TAM"),
        ("loop over tasks, MAML", "tam: MAML"),
        ("loop over tasks, CAVIA", "tam: CAVIA"),
        ("loop over tasks, adaptation", "tam: adapt"),
    ):
        assert rows[name]["same_as"] == same
        assert rows[name]["difference"] < peers.ALIKE


def test_every_row_has_a_time_or_a_reason(peers: ModuleType, rows: dict[str, dict[str, Any]]) -> None:
    assert list(rows) == [contender.name for contender in peers.CONTENDERS]
    for row in rows.values():
        assert row["what"]
        assert ("error" in row) != ("ms" in row), row
        if "ms" in row:
            assert 0 < row["fastest_ms"] <= row["ms"] <= row["slowest_ms"]
    assert rows["PEFT prompt tuning, an adapter a task"]["error"] == "peft is not installed"
    assert rows["higher, MAML"]["error"] == "higher is not installed"


def test_a_peer_that_fails_says_why(peers: ModuleType) -> None:
    def fails(_: object) -> None:
        """Fails."""
        raise RuntimeError("no such kernel\nand more")

    (row,) = peers.measure(peers.Sizes(**TINY), 1, [peers.Contender("a peer", "first order", fails)])
    assert row["error"] == "RuntimeError: no such kernel"
    with pytest.raises(RuntimeError, match="no such kernel"):
        peers.measure(peers.Sizes(**TINY), 1, [peers.Contender("tam: TAM", "first order", fails)])


def test_another_result_is_noticed(peers: ModuleType) -> None:
    def other(p: Any) -> Callable[[], list[torch.Tensor]]:
        """TAM's step with a gradient that is a little off."""
        step = peers.tam_step(p)
        return lambda: [1.001 * gradient for gradient in step()]

    contenders = [
        peers.Contender("tam: TAM", "first order", peers.tam_step, "embedding"),
        peers.Contender("another", "first order", other, "embedding"),
    ]
    right, wrong = peers.measure(peers.Sizes(**TINY), 1, contenders)
    assert right["difference"] == 0
    assert wrong["difference"] == pytest.approx(1e-3)


def test_ratios_and_their_bars(peers: ModuleType) -> None:
    times = {"tam: TAM": 10.0, "TorchOpt SGD, losses under vmap": 11.0, "loop over tasks, SGD": 25.0}
    rows = [{"name": name, "ms": ms} for name, ms in (times | {"tam: adapt": 1.0}).items()]
    found = {(one["ours"], one["other"]): peers.verdict(one) for one in peers.ratios(rows)}
    assert found["tam: TAM", "TorchOpt SGD, losses under vmap"] == "1.10×, must be 1.2×: missed"
    assert found["tam: TAM", "loop over tasks, SGD"] == "2.50×, must be 2×"
    assert found["tam: adapt", "PEFT prompt tuning, an adapter a task"] == "not measured"


def test_contenders_run_in_turn(peers: ModuleType) -> None:
    order: list[str] = []
    steps = {name: lambda name=name: order.append(name) for name in "abc"}
    times = peers.time_in_turn(steps, rounds=2)
    assert "".join(order) == "abcabc"
    assert [len(each) for each in times.values()] == [2, 2, 2]


def test_the_processors_time_is_without_waiting(peers: ModuleType) -> None:
    (taken,) = peers.time_in_turn({"sleep": lambda: time.sleep(0.05)}, rounds=1)["sleep"]
    assert taken.clock >= 50
    assert 0 <= taken.processor < 25
