"""tam train, eval, adapt, predict, from the first command to the last, as a person types them."""

import json
import shlex
import sys
from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tam.__main__ import main as main_of_module
from tam.cli import main
from tam.commands.train import Train
from tam.embedding import TaskEmbedding


def tam(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["tam", *words])
    main()


@pytest.fixture(scope="module")
def small_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve tasks, each a letter that must occur for the label to be yes."""
    file = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    lines = []
    for number, letter in enumerate("abcdefghijkl"):
        words = [list(word) for length in (1, 2) for word in product((letter, *"wxyz"), repeat=length)]
        examples = [{"x": word, "y": "yes" if letter in word else "no"} for word in words]
        split = "train" if number < 8 else "valid" if number < 10 else "test"
        lines.append({"task": letter, "kind": "classification", "split": split, "examples": examples})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.fixture(scope="module")
def finished(small_tasks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "first"
    with pytest.MonkeyPatch.context() as monkeypatch:
        tam(monkeypatch, "train", str(small_tasks), "--preset", "smoke", "--out", str(folder))
    return folder


def test_a_run_stands_beside_the_paper_s_numbers_of_its_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for method, shown in (("snail", True), ("nearest", False)):
        words = ("--method", method, "--preset", "smoke", "--shots", "1")
        tam(monkeypatch, "train", "classification", *words, "--out", str(tmp_path / method))
        printed = capsys.readouterr().out
        assert ("the paper's SNAIL  43.0 %" in printed) == shown
        assert ("the paper's" in printed) == shown
        assert "ceiling" in printed


def test_a_run_is_a_folder(finished: Path) -> None:
    names = {file.name for file in finished.iterdir()}
    assert names == {
        "best-1.safetensors",
        "best-5.safetensors",
        "config.json",
        "learner.json",
        "metrics.jsonl",
        "model.safetensors",
        "result.json",
        "scores.png",
        "scores.svg",
    }
    result = json.loads((finished / "result.json").read_text())
    assert [score["k"] for score in result["scores"]] == [1, 5]
    assert result["config"]["training"]["steps"] == 4


def test_a_run_that_cannot_be_has_no_folder(
    small_tasks: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    sequences = tmp_path / "sequences.jsonl"
    line = json.loads(small_tasks.read_text().splitlines()[0]) | {"kind": "transduction"}
    line["examples"] = [{"x": example["x"], "y": example["x"]} for example in line["examples"]]
    splits = ("train", "valid", "test")
    sequences.write_text("".join(json.dumps(line | {"task": s, "split": s}) + "\n" for s in splits))
    words = ["--preset", "smoke", "--out", str(folder)]
    for given, message in (
        (
            [str(sequences), "--method", "matching", "--shots", "1"],
            "matching is for classification only, and the answers of these tasks are sequences; methods for "
            "those: tam, agnostic, multitask, maml, cavia, snail, nearest$",
        ),
        (
            [str(sequences), "--method", "prototypical"],
            "prototypical is for classification only, .* methods for those: tam, agnostic, multitask, ",
        ),
        ([str(small_tasks), "--method", "cavia", "--support-sizes", "4", "16"], "a task has 16 rows"),
        ([str(small_tasks), "--method", "snail", "--shots", "15", "--rows", "99"], "rows is 30: an episode"),
        ([str(small_tasks), "--shots", "30"], f"^error: {small_tasks}: valid task 'i' has too few examples"),
        ([str(small_tasks), "--precision", "bfloat16"], "bfloat16 is for GPUs"),
    ):
        with pytest.raises(SystemExit, match=message):
            tam(monkeypatch, "train", *given, *words)
        assert not folder.exists()


def test_a_folder_whose_name_is_too_long(small_tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("train", str(small_tasks), "--preset", "smoke", "--out", "x" * 300)
    with pytest.raises(SystemExit, match=r"^error: x+: cannot be written: File name too long$"):
        tam(monkeypatch, *command)
    with pytest.raises(SystemExit, match=r"^error: x+: there is no run to resume"):
        tam(monkeypatch, *command, "--resume")


def test_a_folder_called_like_a_benchmark_does_not_hide_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "classification").mkdir()
    monkeypatch.chdir(tmp_path)
    words = ("train", "classification", "--preset", "smoke", "--shots", "500", "--out", "run")
    with pytest.raises(SystemExit, match=r"valid task .* has too few examples .* for shots of 500"):
        tam(monkeypatch, *words)


def test_eval_prints_what_the_run_found(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tam(monkeypatch, "eval", str(finished))
    result = json.loads((finished / "result.json").read_text())
    printed = capsys.readouterr().out
    for score in result["scores"]:
        assert f"{100 * score['accuracy']:.1f} %" in printed


def test_eval_at_a_k_that_no_number_holds(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"^error: --shots is below 2\^63, not \(1000"):
        tam(monkeypatch, "eval", str(finished), "--shots", f"{10**400}")


def test_eval_with_more_supports_than_can_be_meant(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"^error: --supports is at most 1000, not 1000000000$"):
        tam(monkeypatch, "eval", str(finished), "--supports", f"{10**9}")


def test_several_runs_are_trials_of_one_another(
    finished: Path,
    small_tasks: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other, bigger = tmp_path / "second", tmp_path / "bigger"
    command = ("train", str(small_tasks), "--preset", "smoke")
    tam(monkeypatch, *command, "--out", str(other), "--seed", "1")
    tam(monkeypatch, *command, "--out", str(bigger), "--width", "32")
    capsys.readouterr()
    tam(monkeypatch, "eval", str(finished), str(other))
    printed = capsys.readouterr().out
    results = [json.loads((folder / "result.json").read_text()) for folder in (finished, other)]
    one, two = (100 * result["scores"][0]["accuracy"] for result in results)
    assert f"{(one + two) / 2:.1f} % ± {abs(one - two) / 2**0.5:.1f} %" in printed
    with pytest.raises(
        SystemExit,
        match=rf"^error: {bigger}: no trial of {finished}, .* its seed alone: width is 32, not 16$",
    ):
        tam(monkeypatch, "eval", str(finished), str(other), str(bigger))
    with pytest.raises(
        SystemExit, match=f"^error: {other}: has the seed 1, as {other} has: they are not two"
    ):
        tam(monkeypatch, "eval", str(finished), str(other), str(other))


def test_a_run_is_scored_on_the_tasks_it_was_trained_with(
    small_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named by a path that is not absolute, and scored from another folder; one test task has no interval."""
    lines = small_tasks.read_text().splitlines(keepends=True)
    tasks, elsewhere = tmp_path / "tasks.jsonl", tmp_path / "elsewhere"
    tasks.write_text("".join(lines[:-1]))
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    tam(monkeypatch, "train", "tasks.jsonl", "--preset", "smoke", "--out", "run")
    monkeypatch.chdir(elsewhere)
    capsys.readouterr()
    tam(monkeypatch, "eval", "../run")
    assert "nan" not in capsys.readouterr().out
    result = json.loads((tmp_path / "run" / "result.json").read_text(), parse_constant=pytest.fail)
    assert result["scores"][0]["accuracy_interval"] is None
    tasks.write_text(
        "".join(lines[:-1]).replace("test", "hold").replace("valid", "test").replace("hold", "valid")
    )
    with pytest.raises(SystemExit, match="give it the tasks it started with"):
        tam(monkeypatch, "eval", "../run")
    tasks.write_text("".join(lines[:-1]))
    with pytest.raises(SystemExit, match="device is 'cuda', but torch finds no GPU"):
        tam(monkeypatch, "eval", "../run", "--device", "cuda")


def test_adapt_and_predict(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examples, rule = tmp_path / "examples.jsonl", tmp_path / "rule.json"
    examples.write_text('{"x": ["a", "x"], "y": "yes"}\n\n{"x": ["x"], "y": "no"}\n')
    tam(monkeypatch, "adapt", str(finished), str(examples), "--out", str(rule))
    assert "tam predict" in capsys.readouterr().out
    tam(monkeypatch, "predict", str(finished), str(rule), "a x", "x", "")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert {line.rpartition("→")[2].strip() for line in lines} <= {"yes", "no"}


def test_a_finished_run_is_shown_again_and_not_overwritten(
    finished: Path, small_tasks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("train", str(small_tasks), "--preset", "smoke", "--out", str(finished))
    before = (finished / "model.safetensors").read_bytes()
    with pytest.raises(SystemExit, match="holds a run already"):
        tam(monkeypatch, *command)
    with pytest.raises(SystemExit, match="other settings"):
        tam(monkeypatch, *command, "--resume", "--steps", "9")
    tam(monkeypatch, *command, "--resume")
    assert "accuracy at k" in capsys.readouterr().out
    assert (finished / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("moment", ["provenance", "train", "score"])
@pytest.mark.parametrize("words", [["train", "{tasks}", "--preset", "smoke"], ["run", "{config}"]])
def test_interrupting_a_run_at_once_says_that_it_can_be_taken_up(
    words: list[str],
    moment: str,
    finished: Path,
    small_tasks: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    paths = {"tasks": small_tasks, "config": finished / "config.json"}
    command = ["tam", *(word.format(**paths) for word in words), "--out", str(tmp_path / "run")]
    monkeypatch.setattr(sys, "argv", command)
    with monkeypatch.context() as patch:
        patch.setattr(f"tam.training.run.{moment}", interrupt)
        with pytest.raises(SystemExit) as end:
            main_of_module()
    assert end.value.code == 130
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "stopped at once; take it up again with the same command and --resume"
    monkeypatch.setattr(sys, "argv", [*command, "--resume"])
    main_of_module()
    assert (tmp_path / "run" / "result.json").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty: expected one example a line"),
        ('{"x": ["a"], "y": "yes"}\nnonsense\n', r"examples.jsonl:2: not JSON"),
        ('{"x": ["a"]}\n', r"examples.jsonl:1: no field 'y': an example has x, y"),
        ('{"x": ["a"], "y": "yes", "z": 1}\n', r"examples.jsonl:1: unknown field 'z'"),
        ('["a", "yes"]\n', r"examples.jsonl:1: expected an object with x and y, .*, not a list"),
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
        ('{"x": ["a"], "y": "\\ud800"}\n', "examples.jsonl:1: a string has the lone surrogate"),
        ("".join(f'{{"x": ["a"], "y": {y}}}\n' for y in range(3)), "examples.jsonl: 3 different labels, but"),
    ],
)
def test_bad_examples_say_where(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, message: str
) -> None:
    examples = tmp_path / "examples.jsonl"
    examples.write_text(content)
    rule = TaskEmbedding(np.zeros(2, np.float32), (), "an earlier one's", 0.0)
    rule.save(tmp_path / "rule.json")
    with pytest.raises(SystemExit, match=message) as caught:
        tam(monkeypatch, "adapt", str(finished), str(examples), "--out", str(tmp_path / "rule.json"))
    assert str(caught.value).startswith(f"error: {examples}")
    assert "\n" not in str(caught.value)
    assert TaskEmbedding.load(tmp_path / "rule.json") == rule


def test_examples_are_read_as_tasks_are(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a byte order mark, Windows' ends of lines, and a line separator inside of a string."""
    examples, rule = tmp_path / "examples.jsonl", tmp_path / "rule.json"
    lines = ('\ufeff{"x": ["a"], "y": "one\u2028label"}', "", '{"x": ["x"], "y": "no"}')
    examples.write_bytes("\r\n".join(lines).encode())
    tam(monkeypatch, "adapt", str(finished), str(examples), "--out", str(rule))
    assert json.loads(rule.read_text(encoding="utf-8"))["labels"] == ["no", "one\u2028label"]
    capsys.readouterr()


@pytest.mark.parametrize("out", [".", "none/rule.json", "/dev/full"])
def test_a_rule_that_cannot_be_written_says_so(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples.jsonl").write_text('{"x": ["a"], "y": "yes"}\n')
    with pytest.raises(SystemExit, match=f"^error: {out}: cannot be written: "):
        tam(monkeypatch, "adapt", str(finished), "examples.jsonl", "--out", out)
    assert [file.name for file in tmp_path.iterdir()] == ["examples.jsonl"]


def test_a_rule_replaces_rules_alone(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
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
            tam(monkeypatch, "adapt", str(finished), str(examples), "--out", str(out))
        assert out.read_bytes() == before
    rule.touch()
    for content, labels in (("yes", ["yes"]), ("no", ["no"])):
        examples.write_text(json.dumps({"x": ["a"], "y": content}))
        tam(monkeypatch, "adapt", str(finished), str(examples), "--out", str(rule))
        assert json.loads(rule.read_text())["labels"] == labels
    capsys.readouterr()


def test_primitives_that_do_not_go_with_the_model_name_their_file_or_option(
    finished: Path, small_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, run, examples = tmp_path / "tasks.jsonl", tmp_path / "run", tmp_path / "examples.jsonl"
    lines = [json.loads(line) for line in small_tasks.read_text().splitlines()]
    examples.write_text('{"x": ["a"], "y": "yes"}\n')

    def train(held: str) -> None:
        named = [line | {"primitives": ["p", "q" if line["split"] == "train" else held]} for line in lines]
        tasks.write_text("".join(json.dumps(line) + "\n" for line in named))
        tam(monkeypatch, "train", str(tasks), "--preset", "smoke", "--out", str(run))

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
            tam(monkeypatch, "adapt", str(place), str(examples), "--out", "rule.json", "--primitives", *given)


def test_words_are_tokens_as_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, run, rule = tmp_path / "tasks.jsonl", str(tmp_path / "run"), str(tmp_path / "rule.json")
    examples = [{"x": x, "y": y % 2} for y, x in enumerate([[1], [-5], ["٣", 3], ["1"], [1, 1], [3]])]
    line = {"kind": "classification", "examples": examples}
    splits = ("train", "valid", "test")
    file.write_text("".join(json.dumps(line | {"task": s, "split": s}) + "\n" for s in splits))
    words = ("--preset", "smoke", "--method", "nearest", "--shots", "1", "--out", run)
    tam(monkeypatch, "train", str(file), *words)
    given = tmp_path / "examples.jsonl"
    given.write_text("".join(json.dumps(example) + "\n" for example in examples[:3]))
    tam(monkeypatch, "adapt", run, str(given), "--out", rule)
    capsys.readouterr()
    tam(monkeypatch, "predict", run, rule, "1", "-5", "٣ 3")
    assert [text.split("→")[1].strip() for text in capsys.readouterr().out.splitlines()] == ["0", "1", "0"]
    for word in ("²", "--5", "03", "9" * 5000, "1.0", "true"):
        with pytest.raises(SystemExit, match=f"^error: input 1: unknown token '{word[:50]}"):
            tam(monkeypatch, "predict", run, rule, "1", f"1 {word}")


def test_a_damaged_rule_names_its_file(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examples, rule = tmp_path / "examples.jsonl", tmp_path / "rule.json"
    examples.write_text('{"x": ["a"], "y": "yes"}\n')
    tam(monkeypatch, "adapt", str(finished), str(examples), "--out", str(rule))
    values = json.loads(rule.read_text())
    for change, message in (
        ({"vector": [1.0]}, "the vector has"),
        ({"labels": "ab"}, "not a task embedding"),
    ):
        rule.write_text(json.dumps(values | change))
        with pytest.raises(SystemExit, match=f"^error: {rule}: {message}"):
            tam(monkeypatch, "predict", str(finished), str(rule), "a")
    capsys.readouterr()


def test_wrong_folders_and_rules_say_so(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match="no finished run"):
        tam(monkeypatch, "eval", str(tmp_path))
    rule = tmp_path / "rule.json"
    rule.write_text("{}")
    with pytest.raises(SystemExit, match="not a task embedding"):
        tam(monkeypatch, "predict", str(finished), str(rule), "a")
    with pytest.raises(SystemExit, match="cannot be read"):
        tam(monkeypatch, "predict", str(finished), str(tmp_path / "none.json"), "a")


def test_a_setting_without_effect_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        tam(monkeypatch, "train", "classification", "--out", str(tmp_path / "r"), "--small-share", "0.2")
    with pytest.raises(SystemExit, match="holdout has no effect"):
        tam(monkeypatch, "train", "classification", "--out", str(tmp_path / "r"), "--holdout", "1")
    with pytest.raises(SystemExit, match="bfloat16 is for GPUs"):
        tam(monkeypatch, "train", "transduction", "--preset", "best", "--out", str(tmp_path / "bf"))


def test_tasks_that_cannot_be_read_leave_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nonsense\n")
    with pytest.raises(SystemExit, match=r"bad\.jsonl:1: not JSON"):
        tam(monkeypatch, "train", str(bad), "--out", str(tmp_path / "r"))
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    "words", [["transduction", "--preset", "paper"], ["--preset", "paper", "transduction"]]
)
def test_a_preset_knows_its_benchmark_wherever_that_stands(words: list[str]) -> None:
    made = Train.with_defaults_of(words)
    assert asdict(made("transduction", "run").settings)["inner_rate"] == 0.05  # pyright: ignore[reportArgumentType]
    elsewhere = Train.with_defaults_of(["classification", "--preset", "paper", "--out", "transduction"])
    assert asdict(elsewhere("classification", "run").settings)["inner_rate"] == 0.03  # pyright: ignore[reportArgumentType]


def test_rows_that_leave_none_to_ask_leave_no_folder(
    small_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--method", "snail", "--preset", "smoke", "--shots", "5", "--rows", "8")
    with pytest.raises(SystemExit, match="more than the 10 examples of its support"):
        tam(monkeypatch, "train", str(small_tasks), *words, "--out", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_the_lines_of_the_page_on_tasks_are_too_few_to_train_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[1] / "docs" / "tasks.md").read_text(encoding="utf-8")
    file = tmp_path / "tasks.jsonl"
    file.write_text(page.partition("```json\n")[2].partition("```")[0])
    words = ("train", str(file), "--preset", "smoke", "--shots", "1", "--out", str(tmp_path / "run"))
    with pytest.raises(SystemExit) as end:
        tam(monkeypatch, *words)
    assert end.value.code == (
        f"error: {file}: valid task 's' has too few examples (2, 1 of them of class 0) for shots of 1: it "
        "needs 1 of every class, and one more to ask; give it more examples"
    )
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[2]["examples"].append(lines[2]["examples"][0])
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(SystemExit, match=f"^error: {file}: test task 'e' has too few examples"):
        tam(monkeypatch, *words)
    lines[3]["examples"].append(lines[3]["examples"][0])
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tam(monkeypatch, *words)


def test_every_token_can_be_given_and_is_shown_as_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, given = tmp_path / "tasks.jsonl", tmp_path / "my examples.jsonl"
    run, rule = str(tmp_path / "a run"), str(tmp_path / "my rule.json")
    rows: list[list[int | str]] = [
        ["a b"],
        [""],
        ["1"],
        [1],
        ["b", 1],
        ["[", 1, "]"],
        ["[2]"],
        [2],
        ["-x"],
        [],
    ]
    examples = [{"x": row, "y": row} for row in rows]
    line = {"kind": "transduction", "examples": examples}
    splits = ("train", "valid", "test")
    file.write_text("".join(json.dumps(line | {"task": s, "split": s}) + "\n" for s in splits))
    words = ("--preset", "smoke", "--method", "nearest", "--shots", "1", "--out", run)
    tam(monkeypatch, "train", str(file), *words)
    assert f"next: tam eval '{run}', or tam adapt '{run}' " in capsys.readouterr().out
    given.write_text("".join(json.dumps(example) + "\n" for example in examples))
    tam(monkeypatch, "adapt", run, str(given), "--out", rule)
    hint = capsys.readouterr().out.splitlines()[-1]
    command, *hinted = shlex.split(hint.removeprefix("next: "))
    assert (command, hinted[:3]) == ("tam", ["predict", run, rule])
    tam(monkeypatch, *hinted)
    capsys.readouterr()

    typed = ['["a b"]', '[""]', '["1"]', "1", "b 1", "[ 1 ]", "[2]", "2", '["-x"]', ""]
    tam(monkeypatch, "predict", run, rule, *typed)
    shown = capsys.readouterr().out.splitlines()
    assert shown == [f"{text}  →  {text}" for text in typed]
    tam(monkeypatch, "predict", run, rule, '["b", 1]', '[ "[", 1, "]" ]', "[1]", "[]")
    shown = [text.partition("→  ")[2] for text in capsys.readouterr().out.splitlines()]
    assert shown == ["b 1", "[ 1 ]", "1", ""]
    for wrong, message in (
        ('["c d"]', "unknown token 'c d'"),
        ("[1.5]", "expected a token"),
        ('["a', "unknown"),
    ):
        with pytest.raises(SystemExit, match=f"^error: input 0: {message}"):
            tam(monkeypatch, "predict", run, rule, wrong)


def test_labels_that_look_alike_are_shown_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, run, rule = tmp_path / "tasks.jsonl", str(tmp_path / "run"), str(tmp_path / "rule.json")
    labels = {"a": 1, "b": "1", "c": "", "d": "two words"}
    examples = [{"x": [token], "y": label} for token, label in labels.items()]
    line = {"kind": "classification", "examples": examples + examples}
    splits = ("train", "valid", "test")
    file.write_text("".join(json.dumps(line | {"task": s, "split": s}) + "\n" for s in splits))
    words = ("--preset", "smoke", "--method", "nearest", "--shots", "1", "--out", run)
    tam(monkeypatch, "train", str(file), *words)
    given = tmp_path / "examples.jsonl"
    given.write_text("".join(json.dumps(example) + "\n" for example in examples))
    tam(monkeypatch, "adapt", run, str(given), "--out", rule)
    capsys.readouterr()
    tam(monkeypatch, "predict", run, rule, *labels)
    shown = [text.partition("→  ")[2] for text in capsys.readouterr().out.splitlines()]
    assert shown == ["1", '"1"', '""', "two words"]
