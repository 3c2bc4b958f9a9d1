"""The command `tam` in this process."""

import sys
from typing import Any

import pytest

from tam.cli import main


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command here; its output, or the message with which it ends."""

    def run_here(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["tam", *arguments])
        try:
            main()
        except SystemExit as end:
            if end.code:
                assert capsys.readouterr().out == ""
                return str(end.code)
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run_here
