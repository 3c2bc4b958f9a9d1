"""Write results, with facts about the machine."""

import argparse
import os
import platform
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tam.io import json_text, replacing
from tam.provenance import now, provenance

RESULTS = Path(__file__).resolve().parents[1] / "results"

Facts = dict[str, Any]


def write(name: str, facts: Facts) -> None:
    """Write the results of one benchmark."""
    file = RESULTS / f"{name}.json"
    with replacing(file) as temporary:
        temporary.write_text(json_text(facts, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten to results/{file.name}")


def about(name: str, what: str) -> Facts:
    """The first facts of a result: its description, the command, and the machine."""
    return {
        "what": what,
        "command": f"python benchmarks/{name}.py",
        **provenance(),
        "finished": now(),
        "python": platform.python_version(),
        "torch": metadata.version("torch"),
        "machine": platform.machine(),
        **cpu(),
        "load": round(os.getloadavg()[0], 2),
    }


def no_options(description: str | None) -> None:
    """Parse the command line of a script without options other than `--help`."""
    form = argparse.RawTextHelpFormatter
    argparse.ArgumentParser(description=description, formatter_class=form).parse_args()


def cpu() -> Facts:
    """The processor and its number of cores."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
    }


def in_fresh_process(function: Any, *arguments: Any) -> Any:
    """Call a function in a new process, and return its result.

    On Linux, the peak memory of the new process starts at that of this one, which therefore must stay small.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
