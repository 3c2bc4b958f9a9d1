"""For all tests: one thread, a cache folder, so that none leaves a file in the user's, and a browser."""

import os
import shutil
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.clock import Clock

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_QUIETLY = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """One folder for the whole run: what one worker has made, the others read."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tam-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAM_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def triton_cache(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Triton finds what it compiled when the tests last ran, by a hash of the kernels' code."""
    cache = getattr(pytestconfig, "cache", None)
    return tmp_path_factory.mktemp("triton") if cache is None else cache.mkdir("triton")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Workers have a core each: threads that wait for one another would be in each other's way."""
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def browser() -> Generator["Browser"]:
    """The system's Chromium, through Playwright; without it a test is skipped, and fails where CI is set.

    One for each module of tests, not for all: while it is there, `asyncio.run` does not work in this thread.
    """
    program = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if program is None:
        words = "pages are tested in Chromium, which was not found: apt install chromium"
        pytest.fail(words) if os.environ.get("CI") else pytest.skip(words)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=_QUIETLY)
        yield found
        found.close()
