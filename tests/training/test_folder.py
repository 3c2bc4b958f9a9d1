"""A run's folder: for one run, for one process at a time, and kept clean."""

from pathlib import Path

import pytest

from tam.errors import UserError
from tam.evaluation.protocol import Choice
from tam.io import json_text
from tam.training import run as runs
from tam.training.folder import alone_in, is_locked, lock_file, metrics
from tam.training.loop import train
from tam.training.preflight import prepare
from tam.training.run import read_config, start
from tam.training.saved import validated
from tests.training.toys import Start, WriteConfig, ignore, toy_config, toy_tasks

pytestmark = pytest.mark.slow


def test_a_folder_is_used_once(tmp_path: Path) -> None:
    source, folder = {"path": "-"}, tmp_path / "a" / "run"
    with pytest.raises(UserError, match="no run to resume"):
        start(folder, toy_config(), source, resume=True)
    assert not folder.exists()
    start(folder, toy_config(), source, resume=False)
    assert read_config(folder / "config.json") == (toy_config(), source)
    with pytest.raises(UserError, match="holds a run already"):
        start(folder, toy_config(), source, resume=False)
    start(folder, toy_config(), source, resume=True)
    for other, elsewhere, said in (
        (toy_config(seed=1), source, "seed was 0 and is 1"),
        (toy_config(rate=0.02), source, "rate was 0.01 and is 0.02"),
        (toy_config(), {"path": "other"}, "the tasks {'path': '-'}, not {'path': 'other'}"),
    ):
        with pytest.raises(UserError, match=said):
            start(folder, other, elsewhere, resume=True)
    (folder / "plan.json").write_text('{"minutes": 3}')
    with pytest.raises(UserError, match="other settings and --minutes 3: seed was"):
        start(folder, toy_config(seed=1), source, resume=True)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        start(file, toy_config(), source, resume=False)


@pytest.mark.parametrize(
    "left", ["result.json", "checkpoint.safetensors", "model.safetensors", "learner.json"]
)
@pytest.mark.parametrize("resume", [False, True])
def test_a_run_does_not_replace_a_model_or_what_is_left_of_a_run(
    left: str, resume: bool, tmp_path: Path
) -> None:
    (tmp_path / left).write_text("left")
    with pytest.raises(UserError, match=rf"^{tmp_path} holds .* already \({left}\)"):
        start(tmp_path, toy_config(), {"path": "-"}, resume=resume)
    assert [file.name for file in tmp_path.iterdir()] == [left]


def test_a_folder_is_locked_until_the_result_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def score(*_: object) -> dict[str, list[object]]:
        with pytest.raises(UserError, match="another process"), alone_in(tmp_path):
            pass
        return {"scores": []}

    monkeypatch.setattr(runs, "scores_and_floors", score)
    runs.run(prepare(toy_config(steps=2), toy_tasks()), tmp_path, ignore)


def test_a_run_that_another_process_has_just_finished_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = prepare(toy_config(steps=2), toy_tasks())
    result = runs.run(setup, tmp_path, ignore)
    found = [None, result]
    monkeypatch.setattr(runs, "read_result", lambda _: found.pop(0))
    monkeypatch.setattr(runs, "train_alone", lambda *_: pytest.fail("it is finished"))
    assert runs.run(setup, tmp_path, ignore) == result


def test_a_lock_that_its_last_holder_removed_locks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcntl.flock", lambda *_: (tmp_path / ".lock").unlink())
    with pytest.raises(UserError, match="another process"), alone_in(tmp_path):
        pass
    monkeypatch.undo()
    for _ in range(2):
        assert not is_locked(lock_file(tmp_path))
        with alone_in(tmp_path):
            assert is_locked(lock_file(tmp_path))
            with pytest.raises(UserError, match="another process"):
                train(prepare(toy_config(), toy_tasks()), tmp_path, ignore)
    assert not lock_file(tmp_path).exists()


def test_a_tokenizer_is_kept_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "pieces").mkdir()
    (tmp_path / "pieces" / "tokenizer.json").write_text("{}")
    for number, text in enumerate(("pieces", "pieces/tokenizer.json")):
        folder = tmp_path / str(number)
        runs.start(folder, toy_config(), {"path": "-", "text": str(tmp_path / text)}, resume=False)
        assert (folder / "tokenizer.json").read_text() == "{}"


def test_a_run_whose_log_nobody_reads_is_not_finished(
    write_config: WriteConfig, start_run: Start, tmp_path: Path
) -> None:
    """As by `2>&1 | head -1`."""
    process = start_run(write_config(toy_tasks(), toy_config(steps=5)), "--out", tmp_path / "run")
    assert process.stderr is not None
    process.stderr.close()
    process.stderr = None
    assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == 1
    assert not (tmp_path / "run" / "result.json").exists()
    assert not list((tmp_path / "run").glob(".*"))


def test_a_line_separator_inside_a_string_of_the_metrics_ends_no_line(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    valid = {"1": {"steps": 3, "rate": 0.5}}
    file.write_text(json_text({"step": 2, "note": "a\u2028b\x85c", "valid": valid}) + "\n", encoding="utf-8")
    assert validated(tmp_path, 2) == {1: Choice(3, 0.5)}
    with metrics(tmp_path, 2, ignore):
        assert validated(tmp_path, 2) == {1: Choice(3, 0.5)}
