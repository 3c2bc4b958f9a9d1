"""Runs a script in Triton's interpreter, which is chosen when Triton is imported: in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = HERE.parents[1] / "benchmarks"


def run_script(name: str, *arguments: str, **environment: str) -> str:
    """What a script of this folder prints, on one thread; an error if it fails."""
    path = os.pathsep.join([str(BENCHMARKS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, HERE / name, *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def interpreted(name: str, *arguments: str) -> list[float]:
    """The numbers that a script prints in the interpreter."""
    return [float(word) for word in run_script(name, *arguments, TRITON_INTERPRET="1").split()]
