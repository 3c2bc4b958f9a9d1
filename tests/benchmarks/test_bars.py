"""benchmarks/bars.py: how much faster, and whether that is enough."""

from collections.abc import Callable
from types import ModuleType


def test_ratios_and_their_bars(load: Callable[[str], ModuleType]) -> None:
    bars = load("bars")
    times = {"tam: TAM": 10.0, "TorchOpt SGD, losses under vmap": 11.0, "loop over tasks, SGD": 25.0}
    rows = [{"name": name, "ms": ms} for name, ms in (times | {"tam: adapt": 1.0}).items()]
    found = {(one["ours"], one["other"]): bars.verdict(one) for one in bars.ratios(rows)}
    assert found["tam: TAM", "TorchOpt SGD, losses under vmap"] == "1.10×, must be 1.2×: missed"
    assert found["tam: TAM", "loop over tasks, SGD"] == "2.50×, must be 2×"
    assert found["tam: adapt", "PEFT prompt tuning, an adapter a task"] == "not measured"
