"""Memory that is freed is found again, rather than asked for anew."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
from tam.training.heap import keep_freed_memory

def use():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    [np.ones(2**19) for _ in range(16)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if sys.argv[1] == "kept":
    keep_freed_memory()
use()
print(use())
"""


def new_pages(how: str) -> int:
    """How many pages a process is given to use as much memory as it has used and freed before."""
    command = [sys.executable, "-c", PROGRAM, how]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_freed_memory_is_used_again() -> None:
    kept, default = new_pages("kept"), new_pages("default")
    assert kept < default / 10
    assert default > 1000
