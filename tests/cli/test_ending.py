"""All commands end alike: with what they print, or with one line and an exit code."""

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tam.cli.tasks import Tasks
from tam.errors import InterruptedRunError, SettingError, UserError
from tests.cli.real_command import COMMAND, run
from tests.in_process import tam


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (UserError("a mistake"), "error: a mistake"),
        (SettingError("small_share must be at most 1"), "error: --small-share must be at most 1"),
        (InterruptedRunError("stopped"), "stopped; continue with the same command and --resume"),
        (MemoryError(), "error: "),
        (KeyboardInterrupt(), "130"),
    ],
)
@pytest.mark.parametrize("words", ["tasks classification", "run config.json --out run"])
def test_all_commands_end_alike(
    error: BaseException, end: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise error

    monkeypatch.setattr(Tasks, "run", fails)
    monkeypatch.setattr("tam.cli.run.read_config", fails)
    with pytest.raises(SystemExit) as caught:
        tam(*words.split())
    assert str(caught.value.code).startswith(end)


@pytest.mark.parametrize("shortage", [lambda _: torch.empty(2**50), lambda _: np.empty(2**50)])
def test_too_little_memory_is_said(shortage: Any, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tasks, "run", shortage)
    assert "memory" in call("tasks", "classification")


def test_other_errors_are_bugs_and_show_in_full(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tasks, "run", lambda _: torch.zeros(2) @ torch.zeros(3))
    with pytest.raises(RuntimeError, match="size"):
        call("tasks", "classification")


def test_interrupting_is_no_error_of_ours(tmp_path: Path) -> None:
    """While the command waits for a pipe to which nobody writes."""
    pipe = tmp_path / "tasks.jsonl"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [COMMAND, "tasks", str(pipe)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        with open(pipe, "wb"):  # which waits until the command is about to read
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_warning_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    words = ("tasks", "transduction", "--train", "4", "--valid", "1", "--test", "1", "--examples", "8")
    done = run(*words, TAM_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0
    assert re.fullmatch(r"warning: the task set is not cached: .* cannot be written .*\n", done.stderr)
