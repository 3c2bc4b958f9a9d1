"""`tam predict`: answers by a rule, for tokens as a person types them."""

import io
import json
import shlex
from pathlib import Path

import pytest

from tam.learner import learner as learned
from tam.learner.task_embedding import TaskEmbedding
from tests.commands.own import Said, train_nearest, write_examples
from tests.in_process import tam


def answers(text: str) -> list[str]:
    """The answers in what `tam predict` printed."""
    return [line.rpartition("→")[2].strip() for line in text.splitlines()]


def test_adapt_and_predict(finished: Path, tmp_path: Path, said: Said) -> None:
    examples, rule = tmp_path / "examples.jsonl", tmp_path / "rule.json"
    examples.write_text('{"x": ["a", "x"], "y": "yes"}\n\n{"x": ["x"], "y": "no"}\n')
    assert "tam predict" in said("adapt", str(finished), str(examples), "--out", str(rule))
    found = answers(said("predict", str(finished), str(rule), "a x", "x", ""))
    assert len(found) == 3
    assert set(found) <= {"yes", "no"}


def test_words_are_tokens_as_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], said: Said
) -> None:
    given, rule = tmp_path / "examples.jsonl", str(tmp_path / "rule.json")
    examples = [{"x": x, "y": y % 2} for y, x in enumerate([[1], [-5], ["٣", 3], ["1"], [1, 1], [3]])]
    run = train_nearest(tmp_path, "classification", examples)
    write_examples(given, examples[:3])
    tam("adapt", run, str(given), "--out", rule)
    assert answers(said("predict", run, rule, "1", "-5", "٣ 3")) == ["0", "1", "0"]
    for word in ("²", "--5", "03", "9" * 5000, "1.0", "true"):
        tam("predict", run, rule, "1", f"1 {word}")
        assert f"1 of 3 tokens are unknown to the model: '{word[:50]}" in capsys.readouterr().err


def test_an_unknown_number_is_a_number_where_all_tokens_are(tmp_path: Path, said: Said) -> None:
    given, rule = tmp_path / "examples.jsonl", str(tmp_path / "rule.json")
    examples = [{"x": [x, x], "y": [x]} for x in range(6)]
    run = train_nearest(tmp_path, "transduction", examples)
    write_examples(given, examples[:3])
    tam("adapt", run, str(given), "--out", rule)
    for typed in ("57 1", "[57, 1]"):
        assert json.loads(said("predict", run, rule, typed, "--json"))["x"] == [57, 1]


def test_a_damaged_rule_names_its_file(finished: Path, tmp_path: Path) -> None:
    examples, rule = tmp_path / "examples.jsonl", tmp_path / "rule.json"
    examples.write_text('{"x": ["a"], "y": "yes"}\n')
    tam("adapt", str(finished), str(examples), "--out", str(rule))
    values = json.loads(rule.read_text())
    for change, message in (
        ({"vector": [1.0]}, "the vector must have"),
        ({"labels": "ab"}, "not a task embedding"),
    ):
        rule.write_text(json.dumps(values | change))
        with pytest.raises(SystemExit, match=f"^error: {rule}: {message}"):
            tam("predict", str(finished), str(rule), "a")
    for words in (["eval", str(tmp_path)], ["predict", str(finished), str(tmp_path / "none.json"), "a"]):
        with pytest.raises(SystemExit, match=r"no finished run|cannot be read"):
            tam(*words)


def test_every_token_can_be_given_and_is_shown_as_it_can_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], said: Said
) -> None:
    given, rule = tmp_path / "my examples.jsonl", str(tmp_path / "my rule.json")
    rows: list[list[int | str]] = [["a b"], [""], ["1"], [1], ["b", 1], ["[", 1, "]"]]
    rows += [["[2]"], [2], ["-x"], []]
    examples = [{"x": row, "y": row} for row in rows]
    run = train_nearest(tmp_path, "transduction", examples)
    assert f"next: tam eval '{run}', or tam adapt '{run}' " in capsys.readouterr().out
    write_examples(given, examples)
    hint = said("adapt", run, str(given), "--out", rule).splitlines()[-1]
    command, *hinted = shlex.split(hint.removeprefix("next: "))
    assert (command, hinted[:3]) == ("tam", ["predict", run, rule])
    tam(*hinted)

    typed = ['["a b"]', '[""]', '["1"]', "1", "b 1", "[ 1 ]", "[2]", "2", '["-x"]', ""]
    shown = said("predict", run, rule, *typed).splitlines()
    assert shown == [f"{text}  →  {text}" for text in typed]
    shown = said("predict", run, rule, '["b", 1]', '[ "[", 1, "]" ]', "[1]", "[]")
    assert answers(shown) == ["b 1", "[ 1 ]", "1", ""]
    for text, token in (('["c d"]', "'c d'"), ('["a', """'["a'""")):
        tam("predict", run, rule, text)
        assert f"1 of 1 tokens are unknown to the model: {token}" in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"^error: input 0: expected a token"):
        tam("predict", run, rule, "[1.5]")


@pytest.fixture
def rule(finished: Path, tmp_path: Path) -> str:
    """A rule that was learned from two examples."""
    write_examples(tmp_path / "e.jsonl", [{"x": ["a", "x"], "y": "yes"}, {"x": ["x"], "y": "no"}])
    tam("adapt", str(finished), str(tmp_path / "e.jsonl"), "--out", str(tmp_path / "rule.json"))
    return str(tmp_path / "rule.json")


def test_inputs_come_from_a_file_or_from_standard_input(
    finished: Path,
    rule: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    said: Said,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = ("predict", str(finished), rule)
    expected = answers(said(*given, "a x", "x"))
    file = tmp_path / "inputs.jsonl"
    file.write_text('{"x": ["a", "x"]}\n["x"]\n')
    assert answers(said(*given, "--file", str(file))) == expected
    monkeypatch.setattr("sys.stdin", io.StringIO("a x\nx\n"))
    assert answers(said(*given)) == expected
    file.write_text('a x\n{"y": 1}\n')
    with pytest.raises(SystemExit, match=f"^error: {file}:2: no field 'x'"):
        tam(*given, "--file", str(file))
    file.write_text("a x\nx unseen\n")
    tam(*given, "--file", str(file))
    assert "1 of 4 tokens are unknown to the model: 'unseen'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="not both"):
        tam(*given, "a", "--file", str(file))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(SystemExit, match="no inputs"):
        tam(*given)


def test_inputs_end_at_line_feeds_and_may_be_json_objects(
    finished: Path, rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], said: Said
) -> None:
    given, file = ("predict", str(finished), rule), tmp_path / "inputs.txt"
    expected = answers(said(*given, "a x", "x"))
    lines = ('\ufeff{"x": ["a", "x"], "note": "one\u2028two\x85"}', "x")
    file.write_bytes("\r\n".join((*lines, "")).encode())
    assert [line.rpartition("→")[2].strip() for line in said(*given, "--file", str(file)).split("\n")] == [
        *expected,
        "",
    ]
    assert answers(said(*given, '{"x":["a","x"]}', '{"x":"x"}')) == expected
    assert "unknown" not in capsys.readouterr().err
    file.write_text('x\n{"x": ["a"}\n')
    with pytest.raises(SystemExit, match=f"^error: {file}:2: not JSON: "):
        tam(*given, "--file", str(file))
    with pytest.raises(SystemExit, match=r"^error: input 0: not JSON"):
        tam(*given, '{"x": ["a"}')


def test_loose_words_are_not_several_inputs(finished: Path, rule: str) -> None:
    with pytest.raises(SystemExit, match=r'^error: 3 inputs of one word each: quote .*, "a x y";'):
        tam("predict", str(finished), rule, "a", "x", "y")
    tam("predict", str(finished), rule, '["a"]', '["x"]')


def test_probabilities_and_json(finished: Path, rule: str, said: Said) -> None:
    (values,) = map(json.loads, said("predict", str(finished), rule, "a x", "--proba", "--json").splitlines())
    assert values["x"] == ["a", "x"]
    chances = {one["y"]: one["p"] for one in values["proba"]}
    assert set(chances) == {"yes", "no"}
    assert abs(sum(chances.values()) - 1) < 1e-4
    assert values["y"] == max(chances, key=lambda label: chances[label])
    expected = learned.load(finished).predict_proba(TaskEmbedding.load(rule), [["a", "x"]])[0]
    assert chances == pytest.approx(expected, abs=1e-5)
    given = ("predict", str(finished), rule, "a x")
    assert json.loads(said(*given, "--json")) == {"x": ["a", "x"], "y": values["y"]}
    assert f"→  {values['y']} ({max(chances.values()):.3f}), " in said(*given, "--proba")


def test_labels_that_look_alike_are_told_apart(tmp_path: Path, said: Said) -> None:
    given, rule = tmp_path / "examples.jsonl", str(tmp_path / "rule.json")
    examples = [{"x": ["a"], "y": 1}, {"x": ["b"], "y": "1"}, {"x": ["c"], "y": "2"}]
    run = train_nearest(tmp_path, "classification", 2 * examples)
    write_examples(given, examples)
    tam("adapt", run, str(given), "--out", rule)
    assert answers(said("predict", run, rule, '["a"]', '["b"]', '["c"]')) == ["1", '"1"', "2"]
    (shown,) = answers(said("predict", run, rule, "a", "--proba"))
    assert sorted(one.split()[0] for one in shown.split(", ")) == ['"1"', "1", "2"]


def test_text_is_split_as_in_the_tasks_of_the_run(tmp_path: Path, said: Said) -> None:
    table, examples, rule = tmp_path / "t.csv", tmp_path / "e.jsonl", tmp_path / "rule.json"
    splits = ("train", "valid", "test")
    rows = [f"{split},{word},{word[::-1]},{split}" for split in splits for word in ("tea", "cup")]
    table.write_text("\n".join(["task,x,y,split", *rows]))
    words = ("--text", "characters", "--kind", "transduction", "--method", "nearest", "--shots", "1")
    tam("train", str(table), *words, "--out", str(tmp_path / "run"))
    write_examples(examples, [{"x": "tea", "y": "aet"}, {"x": "cup", "y": "puc"}])
    tam("adapt", str(tmp_path / "run"), str(examples), "--out", str(rule))
    assert answers(said("predict", str(tmp_path / "run"), str(rule), "tea", "cup")) == ["aet", "puc"]
    assert answers(said("predict", str(tmp_path / "run"), str(rule), '["c", "u", "p"]')) == ["puc"]
    write_examples(examples, [{"x": "tea", "y": "aet"}, {"x": "cup"}])
    assert "   cup  →  aet " in said("demo", str(tmp_path / "run"), "--examples", str(examples))
    assert "exact match at k =" in said("eval", str(tmp_path / "run"), "--tasks", str(table))
