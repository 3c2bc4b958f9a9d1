"""Words that a command cannot use are named as they were typed."""

import re
from pathlib import Path
from typing import Any

import pytest

from tam import benchmark
from tests.in_process import tam

pytestmark = pytest.mark.slow

WRONG_SETTINGS = {
    "--small-share 2": "--small-share must be at most 1: got 2.0",
    "--rate 1e39": "--rate must be finite and within float32: got 1e+39",
    f"--seed {2**63}": "--seed must be below 2^63",
    "--width 30": "width",
    "--tasks-seed -1": "--tasks-seed",
    "--method maml --patience 3": "there is no setting 'patience' of method 'maml'",
    "--method tom": "there is no method 'tom'",
}


@pytest.mark.parametrize("given", WRONG_SETTINGS)
def test_wrong_settings_are_named_and_leave_no_folder(given: str, call: Any, tmp_path: Path) -> None:
    tasks = "classification"
    if given == "--width 30":  # which is seen once the tasks are there
        tasks = str(tmp_path / "tasks.jsonl")
        benchmark("classification", n=2, train=2, valid=1, test=1, examples=8).write(tasks)
    found = call("train", tasks, "--out", str(tmp_path / "run"), *given.split())
    assert found.startswith(f"error: {WRONG_SETTINGS[given]}")
    assert "\n" not in found
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("given", ["--small-sizes 1", "--shots a", "--steps 1.5"])
def test_values_that_cannot_be_read_name_their_option(
    given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        tam("train", "classification", "--out", str(tmp_path / "run"), *given.split())
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith(f"error: {given.split()[0]}: ")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["train", "classification", "--out", ""], "--out"),
        (["eval", "run", ""], "RUN"),
        (["adapt", "", "examples.jsonl", "--out", "rule.json"], "RUN"),
        (["adapt", "run", "examples.jsonl", "--out", ""], "--out"),
        (["run", "", "--out", "run"], "config"),
    ],
)
def test_an_empty_path_is_not_the_current_folder(
    words: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=f"^error: {name} "):
        tam(*words)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x" * 300, "no/such"])
def test_what_is_not_there_is_named(name: str, call: Any) -> None:
    for words in (["train", name, "--out", "run"], ["predict", name, "rule.json", "a"]):
        found = call(*words)
        assert found.startswith("error: ")
        assert name[:50] in found
        assert "\n" not in found


@pytest.mark.parametrize("arguments", [["tasks"], ["tasks", "transduction", "--what"], ["task"]])
def test_misuse(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        tam(*arguments)
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert re.fullmatch(r"error: .*; see tam( tasks)? --help\n", err)


def test_another_file_is_not_replaced_by_an_onnx_model(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("old")
    with pytest.raises(SystemExit, match=r"^error: --out must be the name of an ONNX file"):
        tam("export", "classification", "--out", str(file))
    assert file.read_text() == "old"
