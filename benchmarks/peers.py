"""Time a meta-step on a CPU, with tam and with the libraries that people use instead.

Install the extra `peers`, then run `.venv/bin/python benchmarks/peers.py`; it writes results/peers.json.

All contenders have the same network, the same examples and one thread. They take turns, round after round,
so that a busy machine slows all of them alike. Times are CPU times; wall-clock times are recorded too. The
process keeps freed memory, so that no contender pays for memory that another one released. A meta-step ends
with the gradient of θ, since the optimiser's update is the same for all. First, contenders that compute the
same thing are compared in double precision: their results must agree.
"""

import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata

import torch
from contenders import CONTENDERS, Contender
from contenders.problem import Sizes, Step, problem
from record import Facts, about, no_options, write
from torch import Tensor
from turns import time_in_turn

from tam.provenance import now
from tam.report.table import table
from tam.training.heap import keep_freed_memory

PEERS = ("higher", "torchopt", "peft")

ROUNDS = 15
ALIKE = 1e-5
"""Allowed difference of results that should be equal, relative to the largest number in them."""


MAML_PEERS = (
    "loop over tasks, MAML",
    "higher, MAML",
    "TorchOpt MetaSGD, MAML",
    "TorchOpt SGD, losses under vmap, MAML",
)
BARS = (
    (
        ("tam: TAM", 1.2, None),
        (
            "TorchOpt SGD, losses under vmap",
            "TorchOpt Adam, losses under vmap",
            "TorchOpt SGD, tasks under vmap",
        ),
    ),
    (
        ("tam: TAM", 2.0, None),
        ("loop over tasks, Adam", "loop over tasks, SGD", "higher, loop over tasks, SGD"),
    ),
    (("tam: TAM", 6.0, None), MAML_PEERS),
    (("tam: MAML", 1.5, None), MAML_PEERS),
    (
        ("tam: CAVIA", 1.5, None),
        (
            "loop over tasks, CAVIA",
            "higher, CAVIA",
            "TorchOpt MetaSGD, CAVIA",
            "TorchOpt SGD, losses under vmap, CAVIA",
        ),
    ),
    (("tam: adapt", 3.0, 10.0), ("PEFT prompt tuning, an adapter a task", "loop over tasks, adaptation")),
)
"""One of our contenders, its required speed-up and our aim; and the peers that these apply to."""


def measure(sizes: Sizes, rounds: int, contenders: Sequence[Contender] = CONTENDERS) -> list[Facts]:
    """For each contender, its time, and the difference of its result from the first of its kind."""
    given = problem(sizes)
    rows: list[Facts] = []
    steps: dict[str, Step] = {}
    firsts: dict[str, tuple[str, list[Tensor]]] = {}
    for contender in contenders:
        exact = contender.prepare(given.in_double())()
        step = steps[contender.name] = contender.prepare(given)
        step()
        first, expected = firsts.setdefault(contender.result, (contender.name, exact))
        rows.append(
            {
                "name": contender.name,
                "group": contender.group,
                "what": (contender.prepare.__doc__ or "").partition("\n")[0],
                "same_as": first,
                "difference": distance(exact, expected),
            }
        )
    times = time_in_turn(steps, rounds)
    for row in rows:
        taken = sorted(each.processor for each in times[row["name"]])
        row |= {
            "ms": round(statistics.median(taken), 2),
            "fastest_ms": round(taken[0], 2),
            "slowest_ms": round(taken[-1], 2),
            "clock_ms": round(statistics.median(each.clock for each in times[row["name"]]), 2),
        }
    return rows


def distance(found: list[Tensor], expected: list[Tensor]) -> float:
    """The largest difference of two results, relative to the largest number in the second."""
    if [value.shape for value in found] != [value.shape for value in expected]:
        raise ValueError("two results that should be the same have different shapes")
    pairs = list(zip(found, expected, strict=True))
    return max(float((a - b).abs().max()) for a, b in pairs) / max(float(b.abs().max()) for _, b in pairs)


def ratios(rows: Sequence[Facts]) -> list[Facts]:
    """The speed-ups of ours over the peers, with the required ones."""
    times = {row["name"]: row["ms"] for row in rows}
    return [
        {
            "ours": ours,
            "other": other,
            "ratio": round(times[other] / times[ours], 2),
            "must": must,
            "aim": aim,
        }
        for (ours, must, aim), others in BARS
        for other in others
    ]


def verdict(one: Facts) -> str:
    """A speed-up with the required one."""
    aim = "" if one["aim"] is None else f", aim {one['aim']:g}×"
    missed = "" if one["ratio"] >= one["must"] else ": missed"
    return f"{one['ratio']:.2f}×, must be {one['must']:g}×{aim}{missed}"


def main() -> None:
    no_options(__doc__)
    if missing := [name for name in PEERS if version(name) is None]:
        sys.exit(
            f"error: not installed: {', '.join(missing)}; the results would have gaps. "
            'Install the extra: pip install -e ".[peers]" -c constraints.txt'
        )
    torch.set_num_threads(1)
    keep_freed_memory()
    sizes = Sizes()
    started = now()
    rows = measure(sizes, ROUNDS)
    found = ratios(rows)
    print(table(["", "ms", "range", ""], [shown(row) for row in rows]))
    print()
    for one in found:
        print(f"{one['ours']} over {one['other']}: {verdict(one)}")
    what = "a meta-step and an adaptation on a CPU, through tam and through other libraries"
    facts = about("peers", what) | {
        "started": started,
        "versions": {name: version(name) for name in ("torch", *PEERS)},
        "threads": torch.get_num_threads(),
        "sizes": asdict(sizes),
        "rounds": ROUNDS,
        "contenders": rows,
        "ratios": found,
    }
    write("peers", facts)
    unequal = [row["name"] for row in rows if row["difference"] > ALIKE]
    if unequal:
        sys.exit(f"not the same results: {', '.join(unequal)}")


def shown(row: Facts) -> list[object]:
    """A row of the printed table."""
    same = row["same_as"]
    note = "" if same == row["name"] else f"same result as {same}, to {row['difference']:.0e}"
    return [row["name"], f"{row['ms']:.1f}", f"{row['fastest_ms']:.1f} … {row['slowest_ms']:.1f}", note]


def version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
