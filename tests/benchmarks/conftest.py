"""The scripts under benchmarks/, which are no package."""

import sys
from collections.abc import Callable, Generator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def load() -> Generator[Callable[[str], ModuleType]]:
    sys.path.insert(0, str(FOLDER))
    yield import_module
    sys.path.remove(str(FOLDER))
