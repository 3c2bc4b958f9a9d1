"""The command `tam` in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("tam"))


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, check=False, env=os.environ | environment
    )
