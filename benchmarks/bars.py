"""How much faster tam must be than its peers, and how much faster it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Facts = dict[str, Any]


@dataclass(frozen=True)
class Bar:
    """How much faster one contender must be than others."""

    ours: str
    others: tuple[str, ...]
    must: float
    aim: float | None = None


MAML_PEERS = (
    "loop over tasks, MAML",
    "higher, MAML",
    "TorchOpt MetaSGD, MAML",
    "TorchOpt SGD, losses under vmap, MAML",
)
BARS = (
    Bar(
        "tam: TAM",
        (
            "TorchOpt SGD, losses under vmap",
            "TorchOpt Adam, losses under vmap",
            "TorchOpt SGD, tasks under vmap",
        ),
        1.2,
    ),
    Bar("tam: TAM", ("loop over tasks, Adam", "loop over tasks, SGD", "higher, loop over tasks, SGD"), 2.0),
    Bar("tam: TAM", MAML_PEERS, 6.0),
    Bar("tam: MAML", MAML_PEERS, 1.5),
    Bar(
        "tam: CAVIA",
        (
            "loop over tasks, CAVIA",
            "higher, CAVIA",
            "TorchOpt MetaSGD, CAVIA",
            "TorchOpt SGD, losses under vmap, CAVIA",
        ),
        1.5,
    ),
    Bar("tam: adapt", ("PEFT prompt tuning, an adapter a task", "loop over tasks, adaptation"), 3.0, 10.0),
)


def ratios(rows: Sequence[Facts]) -> list[Facts]:
    """How much faster ours are than what they are measured against, with what is asked for."""
    times = {row["name"]: row["ms"] for row in rows if "ms" in row}
    return [
        {
            "ours": bar.ours,
            "other": other,
            "ratio": round(times[other] / times[bar.ours], 2) if other in times else None,
            "must": bar.must,
            "aim": bar.aim,
        }
        for bar in BARS
        for other in bar.others
    ]


def verdict(one: Facts) -> str:
    """A ratio with its bar."""
    if one["ratio"] is None:
        return "not measured"
    aim = "" if one["aim"] is None else f", aim {one['aim']:g}×"
    missed = "" if one["ratio"] >= one["must"] else ": missed"
    return f"{one['ratio']:.2f}×, must be {one['must']:g}×{aim}{missed}"
