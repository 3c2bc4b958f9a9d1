import sys
from contextlib import suppress

import pytest

from tam.report.progress import progress
from tests.clock import Clock


def test_nothing_for_short_work(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working") as tell:
        for done in range(1, 10):
            clock.now += 0.1
            tell(done, 10)
    assert capsys.readouterr() == ("", "")


def test_lines_now_and_then(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working") as tell:
        for done in range(1, 31):
            clock.now += 1
            tell(done, 30)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "working: 10 of 30, 20 s left",
        "working: 20 of 30, 10 s left",
        "working: 30 of 30, 0 s left",
    ]


def test_a_bar_on_a_terminal_goes_when_done(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with suppress(KeyboardInterrupt), progress("working") as tell:
        clock.now += 2
        tell(1, 2)
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "\r\x1b[Kworking: 1 of 2, 2 s left\r\x1b[K"
