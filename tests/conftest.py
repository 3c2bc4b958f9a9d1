"""For all tests: one thread and a cache folder, so that none leaves a file in the user's."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """One folder for the whole run: what one worker has made, the others read."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tam-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAM_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Workers have a core each: threads that wait for one another would be in each other's way."""
    torch.set_num_threads(1)
