"""`tam tasks` shows, counts and writes tasks, and says what is wrong with its words."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import tam
from tests.cli.small_sets import SETS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", SETS)
def test_a_set_is_shown_counted_and_written(case: str, call: Any, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    head, *tasks = call("tasks", *SETS[case], "--show", "2").rstrip("\n").split("\n\n")
    assert head.startswith(SETS[case][0])
    assert "5 train, 2 valid, 3 test tasks" in head
    assert ["   (test, " in task.splitlines()[0] for task in tasks] == [True, True]
    text = call("tasks", *SETS[case], "--stats", "--out", str(file))
    assert text.startswith(f"{head}\nwritten to {file}\n{head}")
    assert text.count("slot ") == (2 if case == "pathfinding" else 3)
    assert text.endswith("uniqueness: 10 of 10 tasks differ from all others on some input\n")
    written = tam.read_tasks(file)
    assert written.fingerprint.startswith(head.split(" · ")[-1])
    assert len(written) == 10
    shown = call("tasks", str(file))
    assert head.split(" · ")[-1] in shown
    assert written.test[0].name in shown


def test_some_tasks_only(call: Any) -> None:
    name = tam.benchmark("classification", n=3, train=5, valid=2, test=3, examples=8).train[4].name
    text = call("tasks", *SETS["classification"], "--task", name)
    assert text.split("\n\n")[1].startswith(f"{name}   (train, 8 examples)")
    first, _, last = name.split(" → ")
    assert name in call("tasks", *SETS["classification"], "--show", "99", "--task", f"{first} → * → {last}")


def test_ceilings(call: Any) -> None:
    head, *rows = call("tasks", *SETS["classification"], "--ceiling").splitlines()
    assert head.split("  ")[0] == "k per class"
    found = {int(k): float(share.rstrip("%")) for k, share in (row.split() for row in rows)}
    assert list(found) == [0, 1, 5, 10, 20]
    assert 25 <= found[0] < found[1] < found[20] <= 100
    few = ("--train", "5", "--valid", "2", "--test", "1", "--examples", "8")  # or its progress shows
    head, *rows = call("tasks", "pathfinding", *few, "--ceiling").splitlines()
    assert head.split() == ["k", "perplexity"]
    assert [row.split()[1] for row in rows[1:]] == ["1.000"] * 4
    assert float(rows[0].split()[1]) > 1.5


@pytest.mark.parametrize("split", [{"split": "test"}, {}])
def test_a_file_of_test_tasks_alone_is_shown_and_counted(
    split: dict[str, str], call: Any, tmp_path: Path
) -> None:
    file, copy = tmp_path / "new.jsonl", tmp_path / "copy.jsonl"
    examples = [{"x": [n, n % 2], "y": n % 2} for n in range(12)]
    file.write_text(json.dumps({"task": "new", "kind": "classification", "examples": examples, **split}))
    text = call("tasks", str(file), "--stats", "--out", str(copy))
    assert "classification · 1 test task · 12 tokens · " in text
    assert text.rstrip().splitlines()[-1] == "warning: only 1 test task: scores have a wide error bar"
    assert "new   (test, 12 examples)" in call("tasks", str(file))
    assert call("tasks", str(copy), "--task", "none").endswith("for example, 'new'")
    assert "there must be" in call("train", str(file), "--out", str(tmp_path / "run"))
    with pytest.raises(tam.UserError, match="tasks must be a task set with train"):
        tam.Learner().fit(tam.read_tasks(copy, partial=True))


def test_own_tasks_and_seed(call: Any, tmp_path: Path) -> None:
    line = '{{"task": "{}", "kind": "transduction", "examples": [{{"x": ["a"], "y": ["b", "b"]}}]}}\n'
    file = tmp_path / "own.jsonl"
    file.write_text("".join(line.format(number) for number in range(20)))
    shown = {call("tasks", str(file), "--seed", str(seed)) for seed in range(4)}
    assert len(shown) == 4
    assert call("tasks", str(file), "--seed", "0") in shown
    assert "  a  →  b b" in call("tasks", str(file))
    assert "repeated inputs inside a task: 0" in call("tasks", str(file), "--stats")


def test_a_folder_called_like_a_benchmark_does_not_hide_it(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pathfinding").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "5 train, 2 valid, 3 test tasks" in call("tasks", *SETS["pathfinding"])
    assert "must have a file tasks.jsonl" in call("tasks", "./pathfinding")


def test_colour_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, call: Any) -> None:
    plain = call("tasks", *SETS["pathfinding"])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = call("tasks", *SETS["pathfinding"])
    assert "\x1b[30;42mS" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert call("tasks", *SETS["pathfinding"]) == plain


ERRORS = {
    "clasification": "did you mean 'classification'",
    "transduction --compositional --holdout 8": "--holdout",
    "classification --n 2 --train 5 --examples 100000": "--examples .*100000",
    "pathfinding --show 0": "--show",
    "pathfinding --train 5 --examples 8 --out no/such/folder/x.jsonl": "no/such/folder/x.jsonl",
    "FILE --ceiling": "--ceiling",
    "FILE": "FILE:1: ",
}


@pytest.mark.parametrize("given", ERRORS)
def test_errors(given: str, call: Any, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text("not JSON\n")
    found = call("tasks", *given.replace("FILE", str(file)).split())
    assert re.match(rf"error: .*{ERRORS[given].replace('FILE', str(file))}", found)
    assert "\n" not in found
