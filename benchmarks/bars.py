"""How much faster tam must be than its peers, and how much faster it is."""

from collections.abc import Sequence

from record import Facts

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
"""One of ours, how many times faster it must be, and what we aim at; and than which others."""


def ratios(rows: Sequence[Facts]) -> list[Facts]:
    """How much faster ours are than the others, and must be."""
    times = {row["name"]: row["ms"] for row in rows if "ms" in row}
    return [
        {
            "ours": ours,
            "other": other,
            "ratio": round(times[other] / times[ours], 2) if other in times else None,
            "must": must,
            "aim": aim,
        }
        for (ours, must, aim), others in BARS
        for other in others
    ]


def verdict(one: Facts) -> str:
    """A ratio with its bar."""
    if one["ratio"] is None:
        return "not measured"
    aim = "" if one["aim"] is None else f", aim {one['aim']:g}×"
    missed = "" if one["ratio"] >= one["must"] else ": missed"
    return f"{one['ratio']:.2f}×, must be {one['must']:g}×{aim}{missed}"
