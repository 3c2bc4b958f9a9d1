"""benchmarks/turns.py: every round is timed, and waiting is not the processor's time."""

import time
from collections.abc import Callable
from types import ModuleType


def test_all_run_in_turn(load: Callable[[str], ModuleType]) -> None:
    order: list[str] = []
    steps = {name: lambda name=name: order.append(name) for name in "abc"}
    times = load("turns").time_in_turn(steps, rounds=2)
    assert "".join(order) == "abcabc"
    assert [len(each) for each in times.values()] == [2, 2, 2]


def test_the_processors_time_is_without_waiting(load: Callable[[str], ModuleType]) -> None:
    (taken,) = load("turns").time_in_turn({"sleep": lambda: time.sleep(0.05)}, rounds=1)["sleep"]
    assert taken.clock >= 50
    assert 0 <= taken.processor < 25
