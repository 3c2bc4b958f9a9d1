"""`tam adapt`: from a file of examples to a rule."""

import json
from pathlib import Path

import numpy as np
import pytest

from tam.learner.task_embedding import TaskEmbedding
from tests.in_process import tam


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": empty"),
        ('{"x": ["a"], "y": "yes"}\nnonsense\n', ":2: not JSON"),
        ('{"x": ["a", "a", "a"], "y": "yes"}\n', ":1: x: 3 tokens"),
        ('{"x": [], "y": "yes"}\n\n{"x": [[1]], "y": "yes"}', r":3: x: .*\[1\]"),
        ('{"x": ["a"], "y": ["yes"]}\n', ":1: y: .*label"),
        ("".join(f'{{"x": ["a"], "y": {y}}}\n' for y in range(3)), ": 3 different labels"),
    ],
)
def test_bad_examples_say_where(finished: Path, tmp_path: Path, content: str, message: str) -> None:
    examples = tmp_path / "examples.jsonl"
    examples.write_text(content)
    rule = TaskEmbedding(np.zeros(2, np.float32), (), "an earlier one's", 0.0)
    rule.save(tmp_path / "rule.json")
    with pytest.raises(SystemExit, match=f"^error: {examples}{message}") as caught:
        tam("adapt", str(finished), str(examples), "--out", str(tmp_path / "rule.json"))
    assert "\n" not in str(caught.value)
    assert TaskEmbedding.load(tmp_path / "rule.json") == rule


def test_examples_are_read_as_tasks_are(finished: Path, tmp_path: Path) -> None:
    """With a byte order mark, Windows' ends of lines, and a line separator inside of a string."""
    examples, rule = tmp_path / "examples.jsonl", tmp_path / "rule.json"
    lines = ('\ufeff{"x": ["a"], "y": "one\u2028label"}', "", '{"x": ["x"], "y": "no"}')
    examples.write_bytes("\r\n".join(lines).encode())
    tam("adapt", str(finished), str(examples), "--out", str(rule))
    assert json.loads(rule.read_text(encoding="utf-8"))["labels"] == ["no", "one\u2028label"]


def test_unknown_tokens_of_the_examples_are_noted(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    examples, rule = tmp_path / "examples.jsonl", str(tmp_path / "rule.json")
    examples.write_text(
        '{"x": ["a", "?"], "y": "yes"}\n{"x": ["x", "new"], "y": "no"}\n{"x": ["?"], "y": "no"}\n'
    )
    note = f"note: 3 of 5 tokens of {examples} are unknown to the model: '?', 'new'\n"
    for words in (["adapt"], ["store", "put", str(tmp_path / "tasks.db"), "first"]):
        out = ["--out", rule] if words == ["adapt"] else []
        tam(*words, str(finished), str(examples), *out)
        assert capsys.readouterr().err.endswith(note)


@pytest.mark.parametrize("out", [".", "none/rule.json", "/dev/full"])
def test_a_rule_that_cannot_be_written_says_so(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples.jsonl").write_text('{"x": ["a"], "y": "yes"}\n')
    with pytest.raises(SystemExit, match=f"^error: {out}: cannot be written: "):
        tam("adapt", str(finished), "examples.jsonl", "--out", out)
    assert [file.name for file in tmp_path.iterdir()] == ["examples.jsonl"]


def test_a_rule_replaces_rules_alone(finished: Path, tmp_path: Path) -> None:
    examples, same, rule = (tmp_path / name for name in ("examples.jsonl", "link.jsonl", "rule.json"))
    examples.write_text('{"x": ["a"], "y": "yes"}\n')
    same.symlink_to(examples)
    notes = tmp_path / "notes.txt"
    notes.write_text("not to be lost")
    for out in (examples, same, notes, finished / "learner.json"):
        before = out.read_bytes()
        with pytest.raises(SystemExit, match=f"^error: {out}: this file is not a task embedding"):
            tam("adapt", str(finished), str(examples), "--out", str(out))
        assert out.read_bytes() == before
    rule.touch()
    for content, labels in (("yes", ["yes"]), ("no", ["no"])):
        examples.write_text(json.dumps({"x": ["a"], "y": content}))
        tam("adapt", str(finished), str(examples), "--out", str(rule))
        assert json.loads(rule.read_text())["labels"] == labels


def test_primitives_that_do_not_go_with_the_model_name_their_file_or_option(
    finished: Path, small_tasks: Path, tmp_path: Path
) -> None:
    tasks, run, examples = tmp_path / "tasks.jsonl", tmp_path / "run", tmp_path / "examples.jsonl"
    lines = [json.loads(line) for line in small_tasks.read_text().splitlines()]
    examples.write_text('{"x": ["a"], "y": "yes"}\n')

    def train(held: str) -> None:
        named = [line | {"primitives": ["p", "q" if line["split"] == "train" else held]} for line in lines]
        tasks.write_text("".join(json.dumps(line) + "\n" for line in named))
        tam("train", str(tasks), "--preset", "smoke", "--out", str(run))

    with pytest.raises(SystemExit, match=f"^error: {tasks}: task 'i', not for training"):
        train("q")
    train("new")
    for place, given in ((run, ["p", "q"]), (run, ["new"]), (run, []), (finished, ["new"])):
        with pytest.raises(SystemExit, match=r"^error: --primitives: "):
            tam("adapt", str(place), str(examples), "--out", "rule.json", "--primitives", *given)
