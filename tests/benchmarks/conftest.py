"""The scripts under benchmarks/, which are no package, and small tasks for them."""

import sys
from collections.abc import Callable, Generator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tam.tasks.draws import Draws
from tam.tasks.task import Classes, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary

DIGITS = Vocabulary(range(5))
FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def load() -> Generator[Callable[[str], ModuleType]]:
    sys.path.insert(0, str(FOLDER))
    yield import_module
    sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module", params=["classification", "transduction"])
def tasks(request: pytest.FixtureRequest) -> TaskSet:
    def task(split: str, place: int) -> Task:
        x = Draws("tune", split, place).integers(5, 120).reshape(60, 2)
        inputs = Sequences.from_lists(x.tolist(), 5)
        if request.param == "transduction":
            return Task(f"{split} {place}", DIGITS, inputs, Sequences.from_lists((x[:, ::-1]).tolist(), 5))
        return Task(f"{split} {place}", DIGITS, inputs, Classes((x[:, place] > 1).astype(int), (0, 1)))

    splits = {split: tuple(task(split, place) for place in range(2)) for split in ("train", "valid", "test")}
    return TaskSet(splits, DIGITS)
