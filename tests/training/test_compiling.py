"""All kernels are compiled before the first step and the first validation, and nothing else changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("triton")


def test_steps_and_validations_find_all_kernels_compiled(triton_cache: Path, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "TRITON_CACHE_DIR": str(triton_cache),
        "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]),
    }
    script = Path(__file__).with_name("compile_first.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    counts = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    assert [later for _, later, _ in counts] == [last for *_, last in counts]
    assert min(first for first, *_ in counts) > 0, counts
