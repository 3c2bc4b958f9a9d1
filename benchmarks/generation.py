"""How long the benchmarks take to generate and split, and how much memory, on one core.

Run `.venv/bin/python benchmarks/generation.py`; it writes results/generation.json and fails if a limit
is passed. Every set is made in a process of its own, without the cache.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from machine import cpu_model

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "results" / "generation.json"

SECONDS = {
    "classification": 30,
    "transduction": 15,
    "pathfinding": 30,
    "classification compositional": 180,
    "transduction compositional": 180,
    "pathfinding compositional": 180,
}
MIB = 4096
"""What each set may take."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Facts = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--set",
        choices=list(SECONDS),
        metavar="NAME",
        help="make this set alone, in this process, and print its facts as JSON; one of\n"
        + "\n".join(SECONDS),
    )
    alone: str | None = parser.parse_args().set
    if alone is not None:
        print(json.dumps(generate(alone)))
        return

    from tam.report.table import table

    sets: dict[str, Facts] = {}
    for what in SECONDS:
        sets[what] = in_own_process(what)
        print(f"{what}: {sets[what]['seconds']} s, {sets[what]['peak_mib']} MiB", flush=True)
    write(sets)
    rows = [
        [
            what,
            facts["seconds"],
            facts["limit_seconds"],
            facts["peak_mib"],
            facts["limit_mib"],
            facts["tasks"],
            facts["examples"],
        ]
        for what, facts in sets.items()
    ]
    print()
    print(table(["set", "seconds", "limit", "peak MiB", "limit", "tasks", "examples"], rows))
    over = [what for what, facts in sets.items() if not within_limits(facts)]
    sys.exit(f"over the limit: {', '.join(over)}" if over else 0)


def in_own_process(what: str) -> Facts:
    command = [sys.executable, __file__, "--set", what]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, check=True)
    return {**json.loads(done.stdout), "limit_seconds": SECONDS[what], "limit_mib": MIB}


def generate(what: str) -> Facts:
    """Make one set, here."""
    from tam.tasks.benchmark import BenchmarkOptions, make

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    name, *form = what.split()
    options = BenchmarkOptions(name=name, compositional=bool(form))  # pyright: ignore[reportArgumentType]
    started, started_cpu = time.perf_counter(), time.process_time()
    tasks = make(options, use_cache=False)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - started_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB, but bytes on macOS
    return {
        "options": dict(tasks.options),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "peak_mib": round(peak / (2**20 if sys.platform == "darwin" else 2**10)),
        "tasks": len(tasks),
        "examples": sum(len(task) for task in tasks),
        "fingerprint": tasks.fingerprint,
    }


def within_limits(facts: Facts) -> bool:
    return facts["seconds"] <= facts["limit_seconds"] and facts["peak_mib"] <= facts["limit_mib"]


def write(sets: dict[str, Facts]) -> None:
    import numpy as np

    from tam.provenance import provenance
    from tam.tasks.benchmark import VERSION

    facts: Facts = {
        "what": "time and memory of generating and splitting the benchmarks, one core, no cache",
        "command": "python benchmarks/generation.py",
        "benchmark_version": VERSION,
        **provenance(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "sets": sets,
    }
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
