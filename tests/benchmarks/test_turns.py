"""benchmarks/turns.py and peers.py: times, and how much faster is enough."""

import time

import peers
from contenders import CONTENDERS
from turns import time_in_turn


def test_all_run_in_turn() -> None:
    order: list[str] = []
    steps = {name: lambda name=name: order.append(name) for name in "abc"}
    times = time_in_turn(steps, rounds=2)
    assert "".join(order) == "abcabc"
    assert [len(each) for each in times.values()] == [2, 2, 2]


def test_the_processors_time_is_without_waiting() -> None:
    (taken,) = time_in_turn({"sleep": lambda: time.sleep(0.05)}, rounds=1)["sleep"]
    assert taken.clock >= 50
    assert 0 <= taken.processor < 25


def test_ratios_and_their_bars() -> None:
    times = dict.fromkeys((one.name for one in CONTENDERS), 20.0)
    times |= {"tam: TAM": 10.0, "TorchOpt SGD, losses under vmap": 11.0}
    rows = [{"name": name, "ms": ms} for name, ms in times.items()]
    found = {(one["ours"], one["other"]): peers.verdict(one) for one in peers.ratios(rows)}
    assert found["tam: TAM", "TorchOpt SGD, losses under vmap"] == "1.10×, must be 1.2×: missed"
    assert found["tam: TAM", "loop over tasks, SGD"] == "2.00×, must be 2×"
