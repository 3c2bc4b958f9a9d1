"""How much memory an outer step of MAML and CAVIA takes, with the paper's network on one core.

Run `.venv/bin/python benchmarks/memory.py`; it writes results/memory.json. Every step is taken in a process
of its own: what is reported is how far its peak is above what it held before.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "results" / "memory.json"

TASKS, SUPPORT, QUERY = 4, 16, 16
CASES = [
    (method, order, steps)
    for method in ("maml", "cavia")
    for order, steps in (("first", 10), ("second", 1), ("second", 5), ("second", 10))
]

Facts = dict[str, Any]


def main() -> None:
    """Measure every case, print a table and write the file; or one case, here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--case",
        nargs=3,
        metavar=("METHOD", "ORDER", "STEPS"),
        help="measure this case alone, in this process, and print its MiB; one of\n"
        + "\n".join(" ".join(map(str, case)) for case in CASES),
    )
    asked: list[str] | None = parser.parse_args().case
    if asked is not None:
        case = next((case for case in CASES if list(map(str, case)) == asked), None)
        if case is None:
            parser.error(f"there is no case {' '.join(asked)!r}")
        print(measure(*case))
        return

    from tam.provenance import now, provenance
    from tam.report.table import table

    measured = [in_own_process(*case) for case in CASES]
    facts = {
        "what": "how far an outer step takes the peak of memory",
        "command": "python benchmarks/memory.py",
        **provenance(),
        "finished": now(),
        "device": platform.machine(),
        "python": platform.python_version(),
        "tasks": TASKS,
        "support": SUPPORT,
        "query": QUERY,
        "measured": measured,
    }
    FILE.write_text(json.dumps(facts, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    rows = [[one[key] for key in ("method", "order", "inner_steps", "mib")] for one in measured]
    print(table(["method", "order", "inner steps", "MiB"], rows))


def in_own_process(method: str, order: str, steps: int) -> Facts:
    """One case."""
    done = subprocess.run(
        [sys.executable, __file__, "--case", method, order, str(steps)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    return {"method": method, "order": order, "inner_steps": steps, "mib": round(float(done.stdout))}


def measure(name: str, order: str, steps: int) -> float:
    """The MiB that one outer step adds to the peak of this process."""
    import torch

    from tam.methods import METHODS
    from tam.models import Batch, ModelSpec, build_model

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

    step(1)  # libraries set up
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step(1 + TASKS)  # the first task's share is in `before` already
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


if __name__ == "__main__":
    main()
