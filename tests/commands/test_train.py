"""`tam train`: from tasks to the folder of a run, and what keeps it from one."""

import json
from pathlib import Path

import pytest
import torch

from tests.commands.own import Said, write_in_every_split
from tests.in_process import tam

pytestmark = pytest.mark.slow


def test_a_run_is_a_folder(finished: Path) -> None:
    names = "best-1.safetensors best-5.safetensors config.json learner.json metrics.jsonl model.safetensors"
    names += " result.json scores.png scores.svg"
    assert sorted(file.name for file in finished.iterdir()) == names.split()
    result = json.loads((finished / "result.json").read_text())
    assert [score["k"] for score in result["scores"]] == [1, 5]
    assert result["config"]["training"]["steps"] == 4


def test_a_run_that_cannot_be_has_no_folder(small_tasks: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    bad, sequences = tmp_path / "bad.jsonl", tmp_path / "sequences.jsonl"
    bad.write_text("nonsense\n")
    line = json.loads(small_tasks.read_text().splitlines()[0]) | {"kind": "transduction"}
    line["examples"] = [{"x": example["x"], "y": example["x"]} for example in line["examples"]]
    write_in_every_split(sequences, line)
    for given, about in (
        ([str(sequences), "--method", "matching", "--shots", "1"], "matching is for classification only"),
        ([str(small_tasks), "--method", "cavia", "--support-sizes", "4", "16"], "--support-sizes"),
        ([str(small_tasks), "--method", "snail", "--shots", "15", "--rows", "99"], "--rows"),
        ([str(small_tasks), "--shots", "30"], f"{small_tasks}: valid task 'i' has too few examples"),
        ([str(bad)], f"{bad}:1: not JSON"),
    ):
        with pytest.raises(SystemExit, match=f"^error: {about}"):
            tam("train", *given, "--preset", "smoke", "--out", str(folder))
        assert not folder.exists()


def test_best_works_on_a_cpu_and_the_config_has_the_real_device(
    small_tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("train", str(small_tasks), "--preset", "best", "--layers", "1", "--width", "8", "--steps", "1")
    words += ("--shots", "1", "--supports", "1", "--adapt-steps", "1", "--device", "cpu")
    tam(*words, "--out", str(tmp_path / "run"))
    assert "note: precision is float32: bfloat16 needs a GPU" in capsys.readouterr().err.splitlines()
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["device"], config["training"]["precision"]) == ("cpu", "float32")
    tam(*words, "--out", str(tmp_path / "run"), "--resume")


def test_a_run_is_resumed_on_its_own_device(
    finished: Path, small_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads((finished / "config.json").read_text())
    assert config["device"] == "cpu"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    tam("train", str(small_tasks), "--preset", "smoke", "--out", str(tmp_path / "run"), "--resume")
    assert json.loads((tmp_path / "run" / "result.json").read_text())["config"]["device"] == "cpu"


def test_a_finished_run_is_shown_again_and_not_overwritten(
    finished: Path, small_tasks: Path, said: Said
) -> None:
    command = ("train", str(small_tasks), "--preset", "smoke", "--out", str(finished))
    before = (finished / "model.safetensors").read_bytes()
    with pytest.raises(SystemExit, match="holds a run already"):
        tam(*command)
    with pytest.raises(SystemExit, match="other settings"):
        tam(*command, "--resume", "--steps", "9")
    assert "accuracy at k" in said(*command, "--resume")
    assert (finished / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("moment", ["provenance", "train_alone", "scores_and_floors"])
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
    assert "--resume" in capsys.readouterr().err.splitlines()[-1]
    tam(*command, "--resume")
    assert (tmp_path / "run" / "result.json").exists()


def test_a_run_that_diverges_in_its_last_step_is_an_error(small_tasks: Path, tmp_path: Path) -> None:
    words = ("--preset", "smoke", "--steps", "1", "--warmup", "0", "--rate", "1e30")
    with pytest.raises(SystemExit, match=r"^error: training diverged at step 1"):
        tam("train", str(small_tasks), *words, "--out", str(tmp_path / "run"))
    assert not (tmp_path / "run" / "result.json").exists()


@pytest.mark.slow
def test_too_few_minutes_are_an_error_that_says_how_many_it_takes(
    small_tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--minutes", "0.01", "--device", "cpu", "--out", str(tmp_path / "run"))
    with pytest.raises(SystemExit, match=r"^error: minutes must be about \d+\.?\d* or more"):
        tam("train", str(small_tasks), *words)
    assert "measuring" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_columns_may_have_other_names(tmp_path: Path, said: Said) -> None:
    file, folder = tmp_path / "requests.csv", str(tmp_path / "run")
    rows = [f"{who},{word} {n},{n % 2}" for who in "abc" for word in "wxyz" for n in range(5)]
    file.write_text("\n".join(["customer,message,label", *rows]))
    words = ("--columns", "customer,message,label", "--preset", "smoke", "--shots", "1")
    tam("train", str(file), *words, "--out", folder)
    assert json.loads((tmp_path / "run" / "config.json").read_text())["tasks"]["columns"] == words[1]
    assert "k = 1" in said("eval", folder, "--tasks", str(file))
