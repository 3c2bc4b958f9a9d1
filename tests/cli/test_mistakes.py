"""Words that a command cannot use are named as they were typed."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tam.__main__ import main as main_of_module
from tam.cli.main import main
from tests.cli.real_command import run

WRONG_SETTINGS = {
    "--steps -1": "--steps is at least 0, not -1",
    "--steps=-1": "--steps is at least 0, not -1",
    "--small-share 2 --support mixed": "--small-share is at most 1, not 2.0",
    "--small_share 2 --support mixed": "--small-share is at most 1, not 2.0",
    "--supports 1000000000": "--supports is at most 1000, not 1000000000",
    "--adapt-steps 5 1000000000": "--adapt-steps is at most 10000, not (5, 1000000000)",
    "--inner-steps 1000000000": "--inner-steps is at most 10000, not 1000000000",
    "--method maml --inner-steps 1000000000": "--inner-steps is at most 10000, not 1000000000",
    "--small-after 5": "--small-after has no effect unless support is 'mixed'",
    "--width 30": "--width is a multiple of heads; 30 is not one of 4",
    "--heads 3": "width is a multiple of heads; 64 is not one of 3",
    "--shots 0": "--shots must have one value or more, all above 0, not (0,)",
    "--backbone lstm --conditioning norm": "--conditioning of the LSTM is 'token', not 'norm'",
    "--seed -1": "--seed is at least 0, not -1",
    "--tasks-seed -1": "--tasks-seed is at least 0, not -1",
    "--device gpu": "--device is cpu or cuda, not 'gpu'",
    "--method maml --support-sizes 9 3": "--support-sizes are at least 1, the smaller first, not (9, 3)",
    "--method prototypical --most-shots 0": "--most-shots is at least 1, not 0",
    "--method nearest --adapt-steps 3": "--adapt-steps and --adapt-rates have no effect on nearest",
}


@pytest.mark.parametrize("given", WRONG_SETTINGS)
def test_wrong_settings_are_named_as_they_are_typed(given: str, call: Any, tmp_path: Path) -> None:
    found = call("train", "classification", "--out", str(tmp_path / "run"), *given.split())
    assert found.startswith(f"error: {WRONG_SETTINGS[given]}")
    assert "\n" not in found
    assert not (tmp_path / "run").exists()


WRONG_VALUES = {
    "--small-sizes 1": "expected 2 integers, or None, not '1'",
    "--small-sizes 1 x": "expected 2 integers, or None, not '1 x'",
    "--method maml --support-sizes a b": "expected 2 integers, not 'a b'",
    "--method maml --support-sizes 1": "'--support-sizes'. Expected 2 values",
    "--shots a": "expected integers, not 'a'",
    "--adapt-rates 0.1 x": "expected numbers, not '0.1 x'",
    "--steps 1.5": "expected an integer, not '1.5'",
    "--seed 0x1": "expected an integer, not '0x1'",
    "--rate fast": "expected a number, not 'fast'",
    "--patience 1.5": "expected an integer, or None, not '1.5'",
    "--small-share x": "expected a number, or None, not 'x'",
    f"--seed {'9' * 5000}": f"expected an integer, not '{'9' * 20}",
}


@pytest.mark.parametrize("given", WRONG_VALUES)
def test_values_that_cannot_be_read_say_what_was_expected(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tam", "train", "classification", "--out", str(tmp_path / "run"), *given.split()]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    shown = " ".join(word for word in capsys.readouterr().err.split() if word != "│")
    assert WRONG_VALUES[given] in shown
    option = next(word for word in reversed(given.split()) if word.startswith("--"))
    assert option in shown
    assert not re.search(r"\[/?bold\]|typing|<class|literal", shown)


@pytest.mark.parametrize(
    "words",
    [
        "train classification --preset smoke --out run --preset paper",
        "train classification --preset=smoke --out run --preset=paper",
        "train classification --method snail --out run --method=tam",
        "train classification --tasks-seed 1 --out run --tasks_seed 2",
        "train classification --out run --out other",
        "adapt run examples.jsonl --out rule.json --primitives a --primitives b",
    ],
)
def test_an_option_given_twice_is_named(
    words: str, call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings started from the first preset and the run was said to have the last."""
    monkeypatch.chdir(tmp_path)
    (option,) = {
        name
        for name in ("--preset", "--method", "--tasks-seed", "--out", "--primitives")
        if words.replace("_", "-").count(name) == 2
    }
    assert call(*words.split()) == f"error: {option} is given twice: give it once"
    assert not list(tmp_path.iterdir())


EMPTY_PATHS = [
    (["train", "classification", "--out", ""], "--out"),
    (["train", "classification", "--out="], "--out"),
    (["tasks", "classification", "--out", ""], "--out"),
    (["eval", ""], "RUN"),
    (["eval", "run", ""], "RUN"),
    (["adapt", "", "examples.jsonl", "--out", "rule.json"], "RUN"),
    (["adapt", "run", "", "--out", "rule.json"], "FILE"),
    (["adapt", "run", "examples.jsonl", "--out", ""], "--out"),
    (["predict", "", "rule.json", "a"], "RUN"),
    (["predict", "run", "", "a"], "FILE"),
    (["run", "", "--out", "run"], "config"),
    (["run", "config.json", "--out", ""], "--out"),
]


@pytest.mark.parametrize(("words", "name"), EMPTY_PATHS)
def test_an_empty_path_is_not_the_current_folder(
    words: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tam", *words])
    with pytest.raises(SystemExit) as end:
        main_of_module()
    assert end.value.code == f"error: {name} is the name of a file or folder, not ''"
    assert not list(tmp_path.iterdir())


def test_an_empty_name_of_tasks_is_no_folder(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tasks.jsonl").write_text("not JSON\n")
    monkeypatch.chdir(tmp_path)
    assert call("tasks", "").startswith("error: there is no benchmark ''")
    assert call("train", "", "--out", "run").startswith("error: NAME is one of")


LONG = "x" * 300


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", LONG, "--out", "run"], "there is no benchmark 'xxx"),
        (["train", f"{LONG}.jsonl", "--out", "run"], f"{LONG}.jsonl: there is no such file"),
        (["eval", LONG], f"{LONG}: there is no finished run here"),
        (["adapt", LONG, "examples.jsonl", "--out", "rule.json"], f"{LONG}: there is no trained model here"),
        (["predict", LONG, "rule.json", "a"], f"{LONG}: there is no trained model here"),
    ],
)
def test_names_too_long_for_files(words: list[str], message: str, call: Any) -> None:
    found = call(*words)
    assert found.startswith(f"error: {message}")
    assert "\n" not in found


@pytest.mark.parametrize("option", ["--compositional", "--holdout 0", "--tasks-seed 3"])
def test_options_of_benchmarks_for_tasks_from_a_file(option: str, call: Any, tmp_path: Path) -> None:
    file = tmp_path / "small_share.jsonl"
    file.write_text("not JSON\n")
    words = ("train", str(file), "--out", str(tmp_path / "run"))
    assert call(*words, *option.split()) == (
        f"error: {option.split()[0]} has no effect on tasks that are read from a file"
    )
    assert call(*words).startswith(f"error: {file}:1: not JSON")  # a path stays as it is


@pytest.mark.parametrize("source", ["no.jsonl", "no/such"])
def test_training_on_a_file_that_is_not_there(source: str, call: Any) -> None:
    assert call("train", source, "--out", "run") == f"error: {source}: there is no such file or folder"


@pytest.mark.parametrize("arguments", [[], ["tasks"], ["tasks", "transduction", "--what"], ["task"]])
def test_misuse(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "--help" in done.stderr
