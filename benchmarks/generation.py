"""Measure the time and memory of generating and splitting the benchmarks, on one core.

Run `.venv/bin/python benchmarks/generation.py`; it writes results/generation.json and fails if a limit
is exceeded. Each set is generated in its own process, without the cache.
"""

import os
import platform
import resource
import sys
import time

import numpy as np
from record import Facts, cpu, in_fresh_process, no_options, write

from tam.provenance import provenance
from tam.report.table import table
from tam.tasks.benchmark import VERSION, BenchmarkOptions, make

SECONDS = {
    "classification": 30,
    "transduction": 15,
    "pathfinding": 30,
    "classification compositional": 180,
    "transduction compositional": 180,
    "pathfinding compositional": 180,
}
MIB = 4096
"""The limits for each set."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    no_options(__doc__)
    os.environ |= ONE_THREAD
    sets: dict[str, Facts] = {}
    for name, limit in SECONDS.items():
        made = in_fresh_process(generate, name)
        sets[name] = made | {"limit_seconds": limit, "limit_mib": MIB}
        print(f"{name}: {made['seconds']} s, {made['peak_mib']} MiB", flush=True)
    keys = ("seconds", "limit_seconds", "peak_mib", "limit_mib", "tasks", "examples")
    rows = [[name, *(made[key] for key in keys)] for name, made in sets.items()]
    print(table(["set", "seconds", "limit", "peak MiB", "limit", "tasks", "examples"], rows))
    write("generation", facts(sets))
    over = [name for name, made in sets.items() if made["seconds"] > SECONDS[name] or made["peak_mib"] > MIB]
    sys.exit(f"over the limit: {', '.join(over)}" if over else 0)


def generate(name: str) -> Facts:
    """Generate one set, in this process and on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    benchmark, *form = name.split()
    options = BenchmarkOptions(name=benchmark, compositional=bool(form))  # pyright: ignore[reportArgumentType]
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


def facts(sets: dict[str, Facts]) -> Facts:
    """The contents of the result file."""
    return {
        "what": "time and memory of generating and splitting the benchmarks, one core, no cache",
        "command": "python benchmarks/generation.py",
        "benchmark_version": VERSION,
        **provenance(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        **cpu(),
        "sets": sets,
    }


if __name__ == "__main__":
    main()
