"""The command `tam` as what it prints."""

from typing import Any

import pytest

from tests.in_process import tam


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command here; its output, or the message with which it ends."""

    def run_here(*arguments: str) -> str:
        try:
            tam(*arguments)
        except SystemExit as end:
            if end.code:
                assert capsys.readouterr().out == ""
                return str(end.code)
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run_here
