"""The examples in docstrings are true. Most modules that need torch are left to tests of their own."""

import doctest
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest

import tam.report
import tam.report.page
import tam.tasks

MODULES = ["tam.cli.main", "tam.errors", "tam"] + [
    module.name
    for package in (tam.tasks, tam.report, tam.report.page)
    for module in iter_modules(package.__path__, f"{package.__name__}.")
]
READ_RUNS = (
    "tam.report.collect",
    "tam.report.on_a_cpu",
    "tam.report.own_runs",
    "tam.report.page.own",
    "tam.report.page.published",
    "tam.report.side_by_side",
)
"""What reads or scores runs, which needs torch."""


def test_these_modules_do_without_torch() -> None:
    light = [name for name in MODULES if not name.startswith(READ_RUNS)]
    script = f"import sys\nfor name in {light!r}: __import__(name)\nsys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    results = doctest.testmod(import_module(name))
    assert results.failed == 0
