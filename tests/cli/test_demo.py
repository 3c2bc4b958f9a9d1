"""The demo and the list of models, as a person sees them."""

import io
import resource
import sys
from pathlib import Path
from typing import Any

import pytest

from tam.pretrained import folder_of, names
from tam.pretrained.card import headline, read_card
from tests.cli.real_command import run
from tests.in_process import tam
from tests.letters import write_letters

pytestmark = pytest.mark.slow


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """These lines come from the keyboard."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_models(call: Any) -> None:
    shown = call("models")
    assert [line.split()[0] for line in shown.splitlines()[1:4]] == names()
    card = read_card(folder_of("classification"))
    assert headline(card, card["scores"]["packed"][1]) in shown


def test_labels_are_typed(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("1 1 1 1 1", "1 1 1 1 1 -> low", "9 9 9 9 9 → high", "99 1 -> low", "2 2 2 2 2 ->")
    typed(monkeypatch, *lines, "1 1 1 1 1", "1 2 3 4 5 6", "new", "1 1 1 1 1", "q", "never read")
    shown = call("demo")
    assert "A rule that training never showed, from 40 examples" in shown
    assert "no examples yet" in shown
    assert "unknown token 99" in shown
    assert "there is no answer after the arrow" in shown
    assert "Learned from 2 examples" in shown
    assert "1 1 1 1 1  →  low" in shown
    assert "6 tokens; the model takes up to 5" in shown
    assert "forgotten" in shown


def test_a_packed_model_of_own_tasks_shows_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_letters(file := tmp_path / "letters.jsonl")  # 30 examples per task
    run, packed = str(tmp_path / "run"), str(tmp_path / "packed")
    tam("train", str(file), "--method", "nearest", "--preset", "smoke", "--out", run)
    tam("pack", run, "--out", packed)
    capsys.readouterr()
    typed(monkeypatch, "")
    tam("demo", packed)
    shown = capsys.readouterr().out
    assert shown.count("from 24 examples, such as") == 2
    assert shown.count("of 6 new inputs right") == 2
    assert "numbers were fitted" not in shown


def test_paths_are_drawn(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "7,0 -> 7,0", "7,0 -> 1,4", "here", "1,2 3,5 9,9 2,2 6,2 4,7 2,6 8,1")
    shown = call("demo", "pathfinding")
    assert "start and end must be different" in shown
    assert 'got "here"' in shown
    assert shown.count("S") == 4 * 3 + 1
    last = [line.strip().split() for line in shown.splitlines() if line.strip()][-10:]
    assert all(len(row) == 10 for row in last)
    assert last[1][2] == last[2][3] == "#"


def test_a_file_is_answered_quickly(tmp_path: Path) -> None:
    file = tmp_path / "examples.jsonl"
    file.write_text(
        '{"x": [3, 1, 4, 1, 5], "y": [5, 1, 4, 1, 3]}\n{"x": [2, 7, 1, 8, 2], "y": [2, 8, 1, 7, 2]}\n'
        '{"x": [1, 2, 3, 4, 5], "y": [5, 4, 3, 2, 1]}\n{"x": [6, 0, 9, 0, 1]}\n'
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run("demo", "transduction", "--examples", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert "6 0 9 0 1  →  1 0 9 0 6" in done.stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 10  # seconds of computing


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"x": [1]}\n', "no examples"),
        ('{"x": [1], "y": "a"}\n{"x": [99], "y": "b"}\n', ":2: x: unknown token 99"),
        ('{"x": [1], "y": "a"}\n{"x": [99]}\n', ":2: x: unknown token 99"),
        ("what\n", ":1: "),
    ],
)
def test_mistakes_in_a_file(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "examples.jsonl"
    file.write_text(text)
    with pytest.raises(SystemExit, match=message):
        tam("demo", "--examples", str(file))
