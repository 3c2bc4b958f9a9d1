"""The command starts quickly, since it imports late what is heavy."""

import resource
import subprocess
import sys
from typing import Any

import pytest

from tests.cli.real_command import COMMAND
from tests.cli.small_sets import SETS

pytestmark = pytest.mark.slow


def test_help_is_quick() -> None:
    """In seconds of the processor: how long it waits for one while other tests run is not its doing."""
    taken = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([COMMAND, "--help"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(taken) < 0.3


HEAVY = ("torch", "numpy", "matplotlib", "rich", "safetensors")


@pytest.mark.parametrize(
    "statement",
    [
        "import tam; tam.__version__; dir(tam); tam.UserError",
        "import sys, tam.cli.main; sys.argv = ['tam', '--help']; tam.cli.main.main()",
        "import sys, tam.cli.main; sys.argv = ['tam', 'tasks', '--help']; tam.cli.main.main()",
        "import sys, tam.cli.main; sys.argv = ['tam', 'train', '--help']; tam.cli.main.main()",
    ],
)
def test_heavy_packages_are_imported_late(statement: str) -> None:
    script = f"""
import sys
try:
    {statement}
except SystemExit:
    pass
sys.exit(str([name for name in {HEAVY!r} if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"


def test_a_benchmark_needs_neither_torch_nor_figures(call: Any) -> None:
    script = f"""
import sys, tam.cli.main
sys.argv = ["tam", "tasks", *{SETS["pathfinding"]!r}]
tam.cli.main.main()
sys.exit(str([name for name in ("torch", "matplotlib", "rich") if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
    assert done.stdout == call("tasks", *SETS["pathfinding"])
