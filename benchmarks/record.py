"""Results: where they go, and what they say of the machine."""

import os
import platform
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tam.io import json_text, replacing

RESULTS = Path(__file__).resolve().parents[1] / "results"

Facts = dict[str, Any]


def write(name: str, facts: Facts) -> None:
    """Write the results of one benchmark."""
    file = RESULTS / f"{name}.json"
    with replacing(file) as temporary:
        temporary.write_text(json_text(facts, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten to results/{file.name}")


def cpu() -> Facts:
    """The processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
    }


def in_fresh_process(function: Any, *arguments: Any) -> Any:
    """What a function returns in a process of its own.

    On Linux its peak of memory starts at what this process takes, which therefore must stay small.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
