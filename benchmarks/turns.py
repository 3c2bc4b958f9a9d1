"""Time several functions in turn, round after round, so that a busy machine slows all of them alike."""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Milliseconds(NamedTuple):
    """CPU time and wall-clock time."""

    processor: float
    clock: float


def time_in_turn(steps: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[Milliseconds]]:
    """The times of each step in every round; in a round, each runs once."""
    times: dict[str, list[Milliseconds]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            clock, processor = time.perf_counter(), time.process_time()
            step()
            processor, clock = time.process_time() - processor, time.perf_counter() - clock
            times[name].append(Milliseconds(1e3 * processor, 1e3 * clock))
    return times
