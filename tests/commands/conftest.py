"""Tasks of a user, and a finished run on them."""

from pathlib import Path

import pytest

from tests.commands.own import Said
from tests.in_process import tam
from tests.letters import write_letters


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Run the command here, and return its output."""

    def run_here(*words: str) -> str:
        capsys.readouterr()
        tam(*words)
        return capsys.readouterr().out

    return run_here


@pytest.fixture(scope="session")
def small_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve tasks, each a letter that must occur for the label to be yes."""
    file = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    write_letters(file)
    return file


@pytest.fixture(scope="session")
def finished(small_tasks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that is not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "first"
    tam("train", str(small_tasks), "--preset", "smoke", "--out", str(folder))
    return folder
