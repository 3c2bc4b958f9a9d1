"""What training shows: lines in a file, a bar on a terminal."""

import sys
from typing import Any

import pytest

from tam.training.log import TrainingLog
from tests.clock import Clock


def loss(step: int, seconds: float) -> dict[str, Any]:
    return {"step": step, "loss": 1 / step, "seconds": seconds}


VALID = {
    "step": 20,
    "valid": {
        "1": {"accuracy": 0.4, "perplexity": None, "loss": None},
        "10": {"accuracy": 0.75, "perplexity": 2.5, "loss": 0.8},
    },
}


def test_lines_have_losses_held_out_scores_and_the_time_left(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with TrainingLog(40) as log:
        log({"note": "rows is 41"})
        for step in range(1, 41):
            clock.now += 1
            log(loss(step, step + 50))  # the first step compiles for 50 s
            if step == 20:
                log(VALID)
        log({"step": 40, "test": {}})
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "note: rows is 41",
        "step 1 of 40, loss 1.000",
        "step 11 of 40, loss 0.091, 1.0 steps/s, 29 s left",
        "step 20, validation: k=1 40% (perplexity infinite), k=10 75% (perplexity 2.50)",
        "step 21 of 40, loss 0.048, held out 0.800 (75% at k=10), 1.0 steps/s, 19 s left",
        "step 31 of 40, loss 0.032, held out 0.800 (75% at k=10), 1.0 steps/s, 9 s left",
        "step 40 of 40, loss 0.025, held out 0.800 (75% at k=10), 1.0 steps/s, 0 s left",
    ]


def test_a_bar_on_a_terminal_goes_when_done_and_leaves_the_validations(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with TrainingLog(40) as log:
        log(loss(10, 5))
        log(VALID)
    shown = capsys.readouterr().err
    assert "step 10 of 40, loss 0.100, 2.0 steps/s, 15 s left" in shown
    assert "━" in shown
    assert "step 20, validation: k=1 40% (perplexity infinite), k=10 75% (perplexity 2.50)" in shown
    assert shown.endswith("\x1b[2K")  # the bar's line is wiped


def test_the_bar_says_that_a_run_is_scored_when_its_time_is_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with TrainingLog(1000, seconds=5) as log:
        log(loss(10, 4))
        log(VALID)
        assert "scoring" not in capsys.readouterr().err
        log(loss(11, 5))
        log(VALID)
    assert "scoring" in capsys.readouterr().err


def test_without_rich_a_terminal_gets_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with TrainingLog(1000, seconds=60) as log:
        log(loss(10, 20))
    assert capsys.readouterr().err == "step 10, loss 0.100, 0.5 steps/s, 40 s left\n"
