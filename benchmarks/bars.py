"""The speed-ups over its peers that tam must reach, and those it does reach."""

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
"""One of our contenders, its required speed-up and our aim; and the peers that these apply to."""


def ratios(rows: Sequence[Facts]) -> list[Facts]:
    """The speed-ups of ours over the peers, with the required ones."""
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
    """A speed-up with the required one."""
    if one["ratio"] is None:
        return "not measured"
    aim = "" if one["aim"] is None else f", aim {one['aim']:g}×"
    missed = "" if one["ratio"] >= one["must"] else ": missed"
    return f"{one['ratio']:.2f}×, must be {one['must']:g}×{aim}{missed}"
