"""Measure the memory of an outer step of MAML and CAVIA, with the paper's network on one core.

Run `.venv/bin/python benchmarks/memory.py`; it writes results/memory.json. Each step runs in its own process;
the result is its peak memory above what the process held before.
"""

import os
import resource
from typing import Any

import torch
from record import about, in_fresh_process, no_options, write

from tam.methods import METHODS
from tam.models import Batch, ModelSpec, build_model
from tam.report.table import table

TASKS, SUPPORT, QUERY = 4, 16, 16
CASES = [
    (method, order, steps)
    for method in ("maml", "cavia")
    for order, steps in (("first", 10), ("second", 1), ("second", 5), ("second", 10))
]


def main() -> None:
    no_options(__doc__)
    os.environ["OMP_NUM_THREADS"] = "1"
    measured = [
        {"method": case[0], "order": case[1], "inner_steps": case[2], "mib": in_fresh_process(measure, *case)}
        for case in CASES
    ]
    print(table(["method", "order", "inner steps", "MiB"], [list(one.values()) for one in measured]))
    facts = about("memory", "how far an outer step takes the peak of memory")
    sizes = {"tasks": TASKS, "support": SUPPORT, "query": QUERY}
    write("memory", facts | {"device": facts["machine"]} | sizes | {"measured": measured})


def measure(name: str, order: str, steps: int) -> int:
    """The MiB that one outer step adds to the peak of this process."""
    make: Any = METHODS[name]
    method = make(inner_steps=steps, order=order, support_sizes=(SUPPORT, SUPPORT))
    spec = method.spec(ModelSpec(kind="classification", vocabulary=12, classes=4, max_x=5), 1)
    generator = torch.Generator().manual_seed(0)
    model = build_model(spec, generator)
    rows = SUPPORT + QUERY

    def step(tasks: int) -> None:
        batch = Batch(
            x=torch.randint(12, (tasks, rows, 5), generator=generator),
            x_length=torch.full((tasks, rows), 5),
            y=torch.randint(4, (tasks, rows), generator=generator),
        )
        method.training_step(model, batch, lambda _: None, 0)

    step(1)  # warm up the libraries
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step(1 + TASKS)  # `before` already includes the share of one task
    return round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


if __name__ == "__main__":
    main()
