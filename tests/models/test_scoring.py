"""The kernels from tokens to losses, in Triton's interpreter, against plain torch in float64."""

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
    done = subprocess.run(
        [sys.executable, tests / "interpret_scoring.py"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    errors = [float(line) for line in done.stdout.split()]
    assert len(errors) == 22
    scores, embeddings, losses = errors[:10], errors[10:15], errors[15:]
    assert max(scores) < 5e-6, scores
    assert max(embeddings) < 1e-4, embeddings
    assert max(losses) < 2e-6, losses
