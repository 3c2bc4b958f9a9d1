"""Settings that follow a user's own tasks, and the memory that a step takes."""

import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tam
from tam.config.config import Config
from tam.tasks.task import Classes, Sequences
from tam.tasks.taskset import TaskSet
from tam.training import defaults
from tam.training.defaults import fit_memory, follow_data, free_bytes, most_shots, row_bytes
from tam.training.preflight import check_examples, prepare
from tests.training.toys import DIGITS, toy_tasks


def quick(method: str = "tam", **values: Any) -> Config:
    return Config.from_preset("quick", method, **values)


@pytest.mark.parametrize(("size", "shots"), [(40, (1, 5)), (200, (1, 5, 10, 20)), (9, (1,)), (4, None)])
def test_shots_are_those_that_every_task_can_give(size: int, shots: tuple[int, ...] | None) -> None:
    """Three classes, none of them rarer than a fifth."""
    tasks = toy_tasks(size=size)
    followed = follow_data(quick(), tasks)
    if shots is None:
        assert followed.config.protocol.shots == (1, 5, 10, 20)  # no k is possible: an error says so later
        return
    assert followed.config.protocol.shots == shots
    assert bool(followed.notes) == (shots != (1, 5, 10, 20))
    assert all(re.search(r"task '(valid|test) \d' has examples for \d+ at most", n) for n in followed.notes)
    for split in ("valid", "test"):
        check_examples(tasks, followed.config.protocol, split)
    assert follow_data(quick(shots=(7,)), tasks, {"shots"}).config.protocol.shots == (7,)


def test_a_third_of_the_examples_is_left_to_ask() -> None:
    (task, *_) = toy_tasks("transduction", size=10).valid
    assert most_shots(task) == 6
    assert most_shots(replace(task, x=_rows(2), y=_rows(2))) == 1
    assert most_shots(replace(task, x=_rows(1), y=_rows(1))) == 0
    three = Classes(np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2]), ("a", "b", "c"))
    assert most_shots(replace(task, x=_rows(12), y=three)) == 2


def _rows(count: int) -> Sequences:
    return Sequences.from_lists([[1]] * count, 5)


def test_own_tasks_are_validated_on_the_way_with_mixed_supports() -> None:
    config = follow_data(quick(), toy_tasks(size=200)).config
    assert (config.training.validate_every, config.training.stop_after) == (112, 336)
    settings: Any = config.settings
    assert (settings.support, settings.small_after, settings.small_sizes) == ("mixed", 140, (3, 64))
    given = {"validate_every": 560, "stop_after": None, "support": "all"}
    stays = follow_data(quick(**given), toy_tasks(size=200), given).config
    assert (stays.training.validate_every, stays.training.stop_after) == (560, None)
    assert stays.settings.small is None  # pyright: ignore[reportAttributeAccessIssue]
    assert follow_data(quick("snail"), toy_tasks(size=200)).config.settings == quick("snail").settings


def test_rows_are_fewer_where_a_step_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, config = toy_tasks(size=200), quick()
    size = 64 * 6 * row_bytes(prepare(config, tasks).spec)  # a step has all 6 tasks
    for free, rows, noted in (
        (10 * size, 64, ""),
        (size, 32, "rows is 32: a step of 64 rows"),
        (1, 8, "rows"),
    ):
        monkeypatch.setattr(defaults, "free_bytes", lambda _, free=free: free)
        found = fit_memory(config, tasks, ())
        assert found.config.training.rows == rows
        assert " ".join(found.notes).startswith(noted)
        assert fit_memory(config, tasks, {"rows"}).config == config
    long = TaskSet(
        {s: tuple(replace(t, x=_long(len(t))) for t in some) for s, some in tasks.splits.items()}, DIGITS
    )
    monkeypatch.setattr(defaults, "free_bytes", lambda _: 10**12)
    (note,) = fit_memory(config, long, ()).notes
    assert note.startswith("a step takes about ")
    assert note.endswith(" GB of memory; 1000.0 GB are free")


def _long(count: int) -> Sequences:
    return Sequences.from_lists([[1] * 400] * count, 5)


def test_other_presets_and_benchmarks_keep_their_settings() -> None:
    for preset in ("smoke", "paper", "best"):
        config = Config.from_preset(preset, "tam")
        assert follow_data(config, toy_tasks(size=200), preset=preset).config == config
    tasks = tam.benchmark("pathfinding", train=4, valid=2, test=2, examples=8)
    assert follow_data(quick(), tasks).config == quick()
    assert (free_bytes("cpu") or 10**7) > 10**6


_STEP = '''
import re, sys, tempfile
from pathlib import Path
import numpy as np
from tam.config.config import Config
from tam.tasks.task import Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary
from tam.training.defaults import row_bytes
from tam.training.preflight import prepare
from tam.training.trainer import Trainer

words = Vocabulary(range(50))

def task(name):
    x = Sequences.from_lists(np.random.default_rng(0).integers(0, 50, (25, 60)).tolist(), 50)
    return Task(name, words, x, x)

def most_memory():
    """In bytes; of this program alone, while getrusage remembers the process that started it."""
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])

train = tuple(task(f"train {place}") for place in range(16))
tasks = TaskSet({"train": train, "valid": (task("valid"),), "test": (task("test"),)}, words)
setup = prepare(Config.from_preset("quick", rows=16, shots=(1,), inner_steps=1), tasks)
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(setup, Path(folder))
    before = most_memory()
    trainer.step()
    taken = most_memory() - before
print(16 * 16 * row_bytes(setup.spec) / taken)
'''


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
def test_the_estimate_is_near_what_a_step_takes() -> None:
    """16 tasks of 16 rows, of 60 tokens each."""
    command = [sys.executable, "-c", _STEP]
    ratio = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert 0.6 < ratio < 1.7
