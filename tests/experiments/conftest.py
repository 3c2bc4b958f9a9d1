"""Places for results and runs, apart from other processes."""

from pathlib import Path

import pytest

from tam.experiments.results import Folders


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    """On the CPU; what shares this machine with tests of other workers is not stopped."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # of the processes that are started
    monkeypatch.setattr("tam.experiments.sharing.sharing_folder", lambda: tmp_path)
    return Folders(tmp_path / "results", tmp_path / "runs", "cpu")
