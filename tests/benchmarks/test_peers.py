"""benchmarks/peers.py at a tiny size, without the peers: it compares like with like, and hides nothing."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.slow

TINY = {"layers": 1, "width": 8, "heads": 2, "tasks": 3, "rows": 2, "tokens": 4, "inner_steps": 2}


@pytest.fixture(scope="module")
def peers(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("peers")


@pytest.fixture(scope="module")
def contenders(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("contenders")


@pytest.fixture(scope="module")
def tiny(load: Callable[[str], ModuleType]) -> Any:
    return load("contenders.problem").Sizes(**TINY, new_tasks=4)


def test_tam_does_what_a_loop_does_and_every_row_has_a_time_or_a_reason(
    peers: ModuleType, contenders: ModuleType, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in peers.PEERS:
        monkeypatch.setitem(sys.modules, name, None)
    rows = {row["name"]: row for row in peers.measure(tiny, rounds=2)}
    for name, same in (
        ("loop over tasks, Adam", "tam: TAM"),
        ("loop over tasks, MAML", "tam: MAML"),
        ("loop over tasks, CAVIA", "tam: CAVIA"),
        ("loop over tasks, adaptation", "tam: adapt"),
    ):
        assert rows[name]["same_as"] == same
        assert rows[name]["difference"] < peers.ALIKE
    assert list(rows) == [contender.name for contender in contenders.CONTENDERS]
    for row in rows.values():
        assert row["what"]
        assert ("error" in row) != ("ms" in row), row
        if "ms" in row:
            assert 0 < row["fastest_ms"] <= row["ms"] <= row["slowest_ms"]
    assert rows["higher, MAML"]["error"] == "higher is not installed"


def test_a_peer_that_fails_says_why(peers: ModuleType, contenders: ModuleType, tiny: Any) -> None:
    def fails(_: object) -> None:
        """Fails."""
        raise RuntimeError("no such kernel\nand more")

    (row,) = peers.measure(tiny, 1, [contenders.Contender("a peer", "first order", fails)])
    assert row["error"] == "RuntimeError: no such kernel"
    with pytest.raises(RuntimeError, match="no such kernel"):
        peers.measure(tiny, 1, [contenders.Contender("tam: TAM", "first order", fails)])


def test_another_result_is_noticed(
    peers: ModuleType, contenders: ModuleType, tiny: Any, load: Callable[[str], ModuleType]
) -> None:
    tam_step = load("contenders.ours").tam_step

    def other(p: Any) -> Callable[[], list[torch.Tensor]]:
        """TAM's step with a gradient that is a little off."""
        step = tam_step(p)
        return lambda: [1.001 * gradient for gradient in step()]

    compared = [
        contenders.Contender("tam: TAM", "first order", tam_step, "embedding"),
        contenders.Contender("another", "first order", other, "embedding"),
    ]
    right, wrong = peers.measure(tiny, 1, compared)
    assert right["difference"] == 0
    assert wrong["difference"] == pytest.approx(1e-3)


def test_without_the_extra_nothing_is_measured(peers: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["peers.py"])
    monkeypatch.setattr(peers, "version", lambda name: None if name == "higher" else "1.0")
    monkeypatch.setattr(peers, "measure", lambda *_: pytest.fail("it was measured"))
    with pytest.raises(SystemExit, match="not installed: higher"):
        peers.main()
