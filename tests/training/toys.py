"""The types of the toys that conftest.py makes, and a log for them that keeps nothing."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tam.config.config import Config
from tam.tasks.taskset import TaskSet

MakeTasks = Callable[..., TaskSet]
MakeConfig = Callable[..., Config]
WriteConfig = Callable[[TaskSet, Config], Path]
Start = Callable[..., "subprocess.Popen[str]"]


def ignore(_: Mapping[str, Any]) -> None:
    """A log that keeps nothing."""
