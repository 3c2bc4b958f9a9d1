"""The estimate of a step's memory against what a step takes."""

import subprocess
import sys

import pytest

_STEP = '''
import re, sys, tempfile
from pathlib import Path
import numpy as np
from tam.config.config import Config
from tam.tasks.task import Classes, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary
from tam.training.memory import step_bytes
from tam.training.preflight import prepare
from tam.training.trainer import Trainer

kind, length, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
words = Vocabulary(range(50))

def task(name):
    x = Sequences.from_lists(np.random.default_rng(0).integers(0, 50, (rows + 9, length)).tolist(), 50)
    return Task(name, words, x, Classes(np.arange(rows + 9) % 2, (0, 1)) if kind == "classification" else x)

def most_memory():
    """In bytes; of this program alone, while getrusage remembers the process that started it."""
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])

train = tuple(task(f"train {place}") for place in range(16))
tasks = TaskSet({"train": train, "valid": (task("valid"),), "test": (task("test"),)}, words)
setup = prepare(Config.from_preset("quick", rows=rows, shots=(1,), inner_steps=1), tasks)
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(setup, Path(folder))
    before = most_memory()
    trainer.step()
    taken = most_memory() - before
print(step_bytes(setup.config, setup.spec) / taken)
'''


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
@pytest.mark.parametrize(("kind", "length", "rows"), [("transduction", 60, 16)])
def test_the_estimate_is_near_what_a_step_takes(kind: str, length: int, rows: int) -> None:
    command = [sys.executable, "-c", _STEP, kind, str(length), str(rows)]
    ratio = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert 0.6 < ratio < 1.7
