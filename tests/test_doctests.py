"""The examples in docstrings are true. Modules that need torch are left to tests of their own."""

import doctest
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest

import tam.report
import tam.tasks

MODULES = ["tam.cli.main", "tam.errors", "tam"] + [
    module.name
    for package in (tam.tasks, tam.report)
    for module in iter_modules(package.__path__, f"{package.__name__}.")
]


def test_no_module_is_forgotten() -> None:
    assert {"tam.tasks.pathfinding", "tam.tasks.benchmark", "tam.report.table"} <= set(MODULES)


def test_these_modules_do_without_torch() -> None:
    script = f"import sys\nfor name in {MODULES!r}: __import__(name)\nsys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    results = doctest.testmod(import_module(name))
    assert results.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    with_examples = {
        name for name in MODULES if any(test.examples for test in finder.find(import_module(name)))
    }
    assert {"tam.tasks.jsonl_schema", "tam.tasks.composition"} <= with_examples
    assert len(with_examples) >= 6
