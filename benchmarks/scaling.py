"""Measure the cost of a training step and of an adaptation of TAM against each size of the problem.

Run `.venv/bin/python benchmarks/scaling.py`; it writes results/scaling.json, in minutes, on one CPU thread.
`make pages` draws the figure.

One size at a time is doubled repeatedly, with the others fixed. Costs are CPU times, medians over rounds in
which every point runs once; the process keeps freed memory, as the command `tam` does. The exponent of a cost
is the least-squares slope of log cost against log size.

Memory is counted, not sampled: the peak number of bytes that autograd keeps for backward passes. Memory
shared by several tensors counts once, and the weights do not count.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from contenders.ours import setup, tam_adapt, tam_step
from contenders.problem import Sizes, Step, problem
from record import Facts, about, no_options, write
from torch import Tensor
from turns import time_in_turn

from tam.provenance import now
from tam.report.table import table
from tam.training.heap import keep_freed_memory

ROUNDS = 7
BASE = Sizes()
SWEEPS: dict[str, tuple[int, ...]] = {
    "tasks": (2, 4, 8, 16, 32, 64),
    "rows": (2, 4, 8, 16, 32, 64),
    "inner_steps": (1, 2, 4, 8, 16, 32),
    "tokens": (5, 10, 20, 40, 80),
    "width": (16, 32, 64, 128, 256),
}
MEMORY = (1, 2, 4, 8, 16, 32)
"""Inner steps at which memory is counted."""
COSTS: dict[str, Callable[[Any], Step]] = {"training": tam_step, "adaptation": tam_adapt}


def measure(base: Sizes, sweeps: dict[str, tuple[int, ...]], rounds: int) -> list[Facts]:
    """For each size: its values, the costs in ms, and the exponents."""
    steps: dict[str, Step] = {}
    for quantity, values in sweeps.items():
        for value in values:
            sizes = replace(base, **{quantity: value})
            given = problem(replace(sizes, new_tasks=sizes.tasks))
            for cost, prepare in COSTS.items():
                steps[f"{quantity} {value} {cost}"] = step = prepare(given)
                step()
    taken = time_in_turn(steps, rounds)
    found: list[Facts] = []
    for quantity, values in sweeps.items():
        row: Facts = {"quantity": quantity, "values": list(values)}
        for cost in COSTS:
            times = [
                statistics.median(each.processor for each in taken[f"{quantity} {value} {cost}"])
                for value in values
            ]
            row[f"{cost}_ms"] = [round(ms, 2) for ms in times]
            row[f"{cost}_exponent"] = round(exponent(values, times), 2)
        found.append(row)
    return found


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The least-squares slope of log cost against log size."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


class Kept:
    """Counts the bytes that autograd keeps for backward passes, inside `with kept.counting():`.

    Attributes:
        now: Bytes currently kept.
        peak: The maximum of `now`.
    """

    def __init__(self, weights: Sequence[Tensor]) -> None:
        self._ignored = {weight.untyped_storage().data_ptr() for weight in weights}
        self._holders: Counter[int] = Counter()
        self.now = self.peak = 0

    def counting(self) -> torch.autograd.graph.saved_tensors_hooks:
        return torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: _Keeper(self, tensor), lambda keeper: keeper.tensor
        )

    def count(self, tensor: Tensor, holders: int) -> None:
        """Count one holder of this tensor more (1) or less (-1)."""
        storage = tensor.untyped_storage()
        place = storage.data_ptr()
        if place in self._ignored:
            return
        before = self._holders[place]
        self._holders[place] += holders
        if 0 in (before, before + holders):
            self.now += holders * storage.nbytes()
            self.peak = max(self.peak, self.now)


class _Keeper:
    """Held by autograd in place of a tensor, which is kept as long as this object lives."""

    def __init__(self, kept: Kept, tensor: Tensor) -> None:
        self._kept = kept
        self.tensor = tensor.detach()  # its history would keep this object alive
        kept.count(self.tensor, 1)

    def __del__(self) -> None:
        self._kept.count(self.tensor, -1)


def kept_bytes(sizes: Sizes, method: str) -> int:
    """The peak number of bytes kept for backward passes in a training step of a method."""
    learner, model, batch = setup(method, problem(sizes))
    count = Kept(list(model.parameters()))
    with count.counting():
        learner.training_step(model, batch, lambda _: None, 0)
    return count.peak


def memory(base: Sizes, steps: Sequence[int]) -> Facts:
    """The memory of TAM and CAVIA in MiB, against the number of inner steps."""
    mib = {
        method: [round(kept_bytes(replace(base, inner_steps=count), method) / 2**20, 3) for count in steps]
        for method in ("tam", "cavia")
    }
    return {"inner_steps": list(steps), "mib": mib}


def main() -> None:
    no_options(__doc__)
    torch.set_num_threads(1)
    keep_freed_memory()
    started = now()
    sweeps = measure(BASE, SWEEPS, ROUNDS)
    what = "cost of a training step and of an adaptation of TAM against each size, on a CPU"
    facts = about("scaling", what) | {
        "started": started,
        "threads": torch.get_num_threads(),
        "base": asdict(BASE),
        "rounds": ROUNDS,
        "sweeps": sweeps,
        "memory": memory(BASE, MEMORY),
    }
    show(facts)
    write("scaling", facts)


def show(facts: Facts) -> None:
    for sweep in facts["sweeps"]:
        rows = [
            [f"{cost}, ms", *sweep[f"{cost}_ms"], f"∝ {sweep['quantity']}^{sweep[f'{cost}_exponent']:.2f}"]
            for cost in COSTS
        ]
        print(table([sweep["quantity"], *map(str, sweep["values"]), ""], rows), end="\n\n")
    counted = facts["memory"]
    rows = [[f"{method}, MiB kept", *mib] for method, mib in counted["mib"].items()]
    print(table(["inner_steps", *map(str, counted["inner_steps"])], rows))


if __name__ == "__main__":
    main()
