"""`tam train`: from tasks to the folder of a run, and what keeps it from one."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tam.cli.train import Train
from tests.commands.own import write_in_every_split
from tests.in_process import tam


def test_a_run_stands_beside_the_paper_s_numbers_of_its_method(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for method, shown in (("snail", True), ("nearest", False)):
        words = ("--method", method, "--preset", "smoke", "--shots", "1")
        tam("train", "classification", *words, "--out", str(tmp_path / method))
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


def test_a_run_that_cannot_be_has_no_folder(small_tasks: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    sequences = tmp_path / "sequences.jsonl"
    line = json.loads(small_tasks.read_text().splitlines()[0]) | {"kind": "transduction"}
    line["examples"] = [{"x": example["x"], "y": example["x"]} for example in line["examples"]]
    write_in_every_split(sequences, line)
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
            tam("train", *given, *words)
        assert not folder.exists()


def test_a_folder_whose_name_is_too_long(small_tasks: Path) -> None:
    command = ("train", str(small_tasks), "--preset", "smoke", "--out", "x" * 300)
    with pytest.raises(SystemExit, match=r"^error: x+: cannot be written: File name too long$"):
        tam(*command)
    with pytest.raises(SystemExit, match=r"^error: x+: there is no run to resume"):
        tam(*command, "--resume")


def test_a_folder_called_like_a_benchmark_does_not_hide_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "classification").mkdir()
    monkeypatch.chdir(tmp_path)
    words = ("train", "classification", "--preset", "smoke", "--shots", "500", "--out", "run")
    with pytest.raises(SystemExit, match=r"valid task .* has too few examples .* for shots of 500"):
        tam(*words)


def test_a_finished_run_is_shown_again_and_not_overwritten(
    finished: Path, small_tasks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("train", str(small_tasks), "--preset", "smoke", "--out", str(finished))
    before = (finished / "model.safetensors").read_bytes()
    with pytest.raises(SystemExit, match="holds a run already"):
        tam(*command)
    with pytest.raises(SystemExit, match="other settings"):
        tam(*command, "--resume", "--steps", "9")
    tam(*command, "--resume")
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
    command = [*(word.format(**paths) for word in words), "--out", str(tmp_path / "run")]
    with monkeypatch.context() as patch:
        patch.setattr(f"tam.training.run.{moment}", interrupt)
        with pytest.raises(SystemExit) as end:
            tam(*command)
    assert end.value.code == 130
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "stopped at once; take it up again with the same command and --resume"
    tam(*command, "--resume")
    assert (tmp_path / "run" / "result.json").exists()


def test_a_setting_without_effect_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        tam("train", "classification", "--out", str(tmp_path / "r"), "--small-share", "0.2")
    with pytest.raises(SystemExit, match="bfloat16 is for GPUs"):
        tam("train", "transduction", "--preset", "best", "--out", str(tmp_path / "bf"))


def test_tasks_that_cannot_be_read_leave_no_folder(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nonsense\n")
    with pytest.raises(SystemExit, match=r"bad\.jsonl:1: not JSON"):
        tam("train", str(bad), "--out", str(tmp_path / "r"))
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    "words", [["transduction", "--preset", "paper"], ["--preset", "paper", "transduction"]]
)
def test_a_preset_knows_its_benchmark_wherever_that_stands(words: list[str]) -> None:
    made = Train.with_defaults_of(words)
    assert asdict(made("transduction", "run").settings)["inner_rate"] == 0.05  # pyright: ignore[reportArgumentType]
    elsewhere = Train.with_defaults_of(["classification", "--preset", "paper", "--out", "transduction"])
    assert asdict(elsewhere("classification", "run").settings)["inner_rate"] == 0.03  # pyright: ignore[reportArgumentType]


def test_rows_that_leave_none_to_ask_leave_no_folder(small_tasks: Path, tmp_path: Path) -> None:
    words = ("--method", "snail", "--preset", "smoke", "--shots", "5", "--rows", "8")
    with pytest.raises(SystemExit, match="more than the 10 examples of its support"):
        tam("train", str(small_tasks), *words, "--out", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_the_lines_of_the_page_on_tasks_are_too_few_to_train_on(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
    file = tmp_path / "tasks.jsonl"
    file.write_text(page.partition("```json\n")[2].partition("```")[0])
    words = ("train", str(file), "--preset", "smoke", "--shots", "1", "--out", str(tmp_path / "run"))
    with pytest.raises(SystemExit) as end:
        tam(*words)
    assert end.value.code == (
        f"error: {file}: valid task 's' has too few examples (2, 1 of them of class 0) for shots of 1: it "
        "needs 1 of every class, and one more to ask; give it more examples"
    )
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[2]["examples"].append(lines[2]["examples"][0])
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(SystemExit, match=f"^error: {file}: test task 'e' has too few examples"):
        tam(*words)
    lines[3]["examples"].append(lines[3]["examples"][0])
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tam(*words)
