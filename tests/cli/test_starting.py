"""The command starts quickly, since it imports late what is heavy."""

import resource
import subprocess
import sys

import pytest

from tests.cli.real_command import COMMAND
from tests.cli.small_sets import SETS

pytestmark = pytest.mark.slow


def test_help_is_quick() -> None:
    """Against importing tyro alone, as seconds depend on the machine and on what else it does."""
    commands = {"help": [COMMAND, "--help"], "tyro": [sys.executable, "-c", "import tyro"]}
    taken = {name: min(_seconds(command) for _ in range(5)) for name, command in commands.items()}
    assert taken["help"] < 5 * taken["tyro"]


def _seconds(command: list[str]) -> float:
    """The seconds of the processor that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


HEAVY = ("torch", "numpy", "matplotlib", "rich", "safetensors")
MAIN = "import sys, tam.cli.main; sys.argv = ['tam', *{!r}]; tam.cli.main.main()"


@pytest.mark.parametrize(
    ("statement", "late"),
    [
        ("import tam; tam.__version__; dir(tam); tam.UserError", HEAVY),
        (MAIN.format(["--help"]), HEAVY),
        (MAIN.format(["tasks", "--help"]), HEAVY),
        (MAIN.format(["train", "--help"]), HEAVY),
        (MAIN.format(["tasks", *SETS["pathfinding"]]), ("torch", "matplotlib", "rich")),
    ],
)
def test_heavy_packages_are_imported_late(statement: str, late: tuple[str, ...]) -> None:
    script = f"""
import sys
try:
    {statement}
except SystemExit:
    pass
sys.exit(str([name for name in {late!r} if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
