"""benchmarks/peers.py at a tiny size, without the peers: it compares like with like."""

import sys

import peers
import pytest
from contenders import CONTENDERS, Contender
from contenders.ours import tam_step
from contenders.problem import Problem, Sizes, Step

pytestmark = pytest.mark.slow

TINY = Sizes(layers=1, width=8, heads=2, tasks=3, rows=2, tokens=4, inner_steps=2, new_tasks=4)


def test_tam_does_what_a_loop_does() -> None:
    without_peers = [one for one in CONTENDERS if one.name.startswith(("tam: ", "loop over tasks"))]
    rows = {row["name"]: row for row in peers.measure(TINY, 2, without_peers)}
    for name, same in (
        ("loop over tasks, Adam", "tam: TAM"),
        ("loop over tasks, MAML", "tam: MAML"),
        ("loop over tasks, CAVIA", "tam: CAVIA"),
        ("loop over tasks, adaptation", "tam: adapt"),
    ):
        assert rows[name]["same_as"] == same
        assert rows[name]["difference"] < peers.ALIKE
    for row in rows.values():
        assert row["what"]
        assert 0 < row["fastest_ms"] <= row["ms"] <= row["slowest_ms"]


def test_another_result_is_noticed() -> None:
    def other(p: Problem) -> Step:
        """TAM's step with a gradient that is a little off."""
        step = tam_step(p)
        return lambda: [1.001 * gradient for gradient in step()]

    compared = [
        Contender("tam: TAM", "first order", tam_step, "embedding"),
        Contender("another", "first order", other, "embedding"),
    ]
    right, wrong = peers.measure(TINY, 1, compared)
    assert right["difference"] == 0
    assert wrong["difference"] == pytest.approx(1e-3)


def test_without_the_extra_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["peers.py"])
    monkeypatch.setattr(peers, "version", lambda name: None if name == "higher" else "1.0")
    monkeypatch.setattr(peers, "measure", lambda *_: pytest.fail("it was measured"))
    with pytest.raises(SystemExit, match="not installed: higher"):
        peers.main()
