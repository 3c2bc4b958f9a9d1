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
        ("", "examples.jsonl: empty"),
        ('{"x": ["a"], "y": "yes"}\nnonsense\n', r"examples.jsonl:2: not JSON"),
        ('{"x": ["a"]}\n', r"examples.jsonl:1: no field 'y'"),
        ('{"x": ["a"], "y": "yes", "z": 1}\n', r"examples.jsonl:1: unknown field 'z'"),
        ('["a", "yes"]\n', r"examples.jsonl:1: an example must be an object .*got a list"),
        ('{"x": ["a"], "x": ["x"], "y": "yes"}\n', r"examples.jsonl:1: an object has the field 'x' twice"),
        ('\n\n{"x": ["unheard"], "y": "yes"}\n', r"examples.jsonl:3: x: unknown token 'unheard'"),
        ('{"x": ["a", "a", "a"], "y": "yes"}\n', r"examples.jsonl:1: x: 3 tokens; .* takes up to 2"),
        (
            '{"x": [], "y": "yes"}\n\n{"x": [[1]], "y": "yes"}',
            r"examples.jsonl:3: x: expected a token, .*\[1\]",
        ),
        (
            '{"x": [{}], "y": "yes"}\n',
            "examples.jsonl:1: x: expected a token, an integer or a string, not {}",
        ),
        ('{"x": [1.0], "y": "yes"}\n', "examples.jsonl:1: x: expected a token, .*, not 1.0"),
        ('{"x": [true], "y": "yes"}\n', "examples.jsonl:1: x: expected a token, .*, not True"),
        ('{"x": "a", "y": "yes"}\n', "examples.jsonl:1: x: expected a list of tokens, not 'a'"),
        ('{"x": ["a"], "y": true}\n', "examples.jsonl:1: y: expected a label, .*, not True"),
        ('{"x": ["a"], "y": ["yes"]}\n', "examples.jsonl:1: y: expected a label, .*, not"),
        (f'{{"x": [{"9" * 5000}], "y": 1}}\n', "examples.jsonl:1: an integer has too many digits"),
        (f'{{"x": {"[" * 99999}, "y": 1}}\n', "examples.jsonl:1: lists or objects are nested too deeply"),
        ('{"x": ["a"], "y": "\\ud800"}\n', "examples.jsonl:1: a string has a lone surrogate"),
        ("".join(f'{{"x": ["a"], "y": {y}}}\n' for y in range(3)), "examples.jsonl: 3 different labels, but"),
    ],
)
def test_bad_examples_say_where(finished: Path, tmp_path: Path, content: str, message: str) -> None:
    examples = tmp_path / "examples.jsonl"
    examples.write_text(content)
    rule = TaskEmbedding(np.zeros(2, np.float32), (), "an earlier one's", 0.0)
    rule.save(tmp_path / "rule.json")
    with pytest.raises(SystemExit, match=message) as caught:
        tam("adapt", str(finished), str(examples), "--out", str(tmp_path / "rule.json"))
    assert str(caught.value).startswith(f"error: {examples}")
    assert "\n" not in str(caught.value)
    assert TaskEmbedding.load(tmp_path / "rule.json") == rule


def test_examples_are_read_as_tasks_are(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a byte order mark, Windows' ends of lines, and a line separator inside of a string."""
    examples, rule = tmp_path / "examples.jsonl", tmp_path / "rule.json"
    lines = ('\ufeff{"x": ["a"], "y": "one\u2028label"}', "", '{"x": ["x"], "y": "no"}')
    examples.write_bytes("\r\n".join(lines).encode())
    tam("adapt", str(finished), str(examples), "--out", str(rule))
    assert json.loads(rule.read_text(encoding="utf-8"))["labels"] == ["no", "one\u2028label"]
    capsys.readouterr()


@pytest.mark.parametrize("out", [".", "none/rule.json", "/dev/full"])
def test_a_rule_that_cannot_be_written_says_so(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples.jsonl").write_text('{"x": ["a"], "y": "yes"}\n')
    with pytest.raises(SystemExit, match=f"^error: {out}: cannot be written: "):
        tam("adapt", str(finished), "examples.jsonl", "--out", out)
    assert [file.name for file in tmp_path.iterdir()] == ["examples.jsonl"]


def test_a_rule_replaces_rules_alone(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    examples, same, rule = (tmp_path / name for name in ("examples.jsonl", "link.jsonl", "rule.json"))
    examples.write_text('{"x": ["a"], "y": "yes"}\n')
    same.symlink_to(examples)
    notes = tmp_path / "notes.txt"
    notes.write_text("not to be lost")
    for out, message in (
        (examples, "--out is the file of the examples: give another"),
        (same, "--out is the file of the examples: give another"),
        (notes, "--out is a file that is no task embedding: give another, or remove it first"),
        (finished / "learner.json", "--out is a file that is no task embedding: "),
    ):
        before = out.read_bytes()
        with pytest.raises(SystemExit, match=f"^error: {out}: {message}"):
            tam("adapt", str(finished), str(examples), "--out", str(out))
        assert out.read_bytes() == before
    rule.touch()
    for content, labels in (("yes", ["yes"]), ("no", ["no"])):
        examples.write_text(json.dumps({"x": ["a"], "y": content}))
        tam("adapt", str(finished), str(examples), "--out", str(rule))
        assert json.loads(rule.read_text())["labels"] == labels
    capsys.readouterr()


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

    with pytest.raises(
        SystemExit, match=rf"^error: {tasks}: task 'i', not for training: .*, not 0 of \['p', 'q'\]"
    ):
        train("q")
    train("new")
    for place, given, message in (
        (run, ["p", "q"], r"exactly one .*, not 0 of \['p', 'q'\]"),
        (run, ["new", "newer"], r"exactly one .*, not 2 of \['new', 'newer'\]"),
        (run, ["new"], "a task has 2 primitives in this model, not 1"),
        (run, [], "the model needs the task's primitives"),
        (finished, ["new"], "the model takes no primitives"),
    ):
        with pytest.raises(SystemExit, match=f"^error: --primitives: {message}"):
            tam("adapt", str(place), str(examples), "--out", "rule.json", "--primitives", *given)
