"""Adam's kernels, in Triton's interpreter, against plain torch in float64."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")


def test_kernels_equal_plain_code() -> None:
    tests = Path(__file__).parent
    benchmarks = tests.parents[1] / "benchmarks"
    environment = os.environ | {
        "TRITON_INTERPRET": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(benchmarks), os.environ.get("PYTHONPATH", "")]),
    }
    script = tests / "interpret_adam.py"
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    errors = [float(line) for line in done.stdout.split()]
    assert len(errors) == 10
    assert max(errors) < 1e-6, errors
