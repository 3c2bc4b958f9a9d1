"""`tam eval`: what runs have found, alone and as trials of one another."""

import json
from pathlib import Path

import pytest

from tests.commands.own import Said
from tests.in_process import tam


def test_eval_prints_what_the_run_found(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tam("eval", str(finished))
    result = json.loads((finished / "result.json").read_text())
    printed = capsys.readouterr().out
    for score in result["scores"]:
        assert f"{100 * score['accuracy']:.1f} %" in printed
    with pytest.raises(SystemExit, match=r"^error: --shots "):
        tam("eval", str(finished), "--shots", f"{10**400}")


@pytest.mark.slow
def test_several_runs_are_trials_of_one_another(
    finished: Path,
    small_tasks: Path,
    tmp_path: Path,
    said: Said,
) -> None:
    other, bigger = tmp_path / "second", tmp_path / "bigger"
    command = ("train", str(small_tasks), "--preset", "smoke")
    tam(*command, "--out", str(other), "--seed", "1")
    tam(*command, "--out", str(bigger), "--width", "32")
    printed = said("eval", str(finished), str(other))
    results = [json.loads((folder / "result.json").read_text()) for folder in (finished, other)]
    one, two = (100 * result["scores"][0]["accuracy"] for result in results)
    assert f"{(one + two) / 2:.1f} % ± {abs(one - two) / 2**0.5:.1f} %" in printed
    with pytest.raises(SystemExit, match=rf"^error: {bigger} .* width is 32, not 16$"):
        tam("eval", str(finished), str(other), str(bigger))
    with pytest.raises(SystemExit, match=f"^error: {other} .* seed"):
        tam("eval", str(finished), str(other), str(other))


def test_a_run_is_scored_on_the_tasks_it_was_trained_with(
    small_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    """Named by a path that is not absolute, and scored from another folder; one test task has no interval."""
    lines = small_tasks.read_text().splitlines(keepends=True)
    tasks, elsewhere = tmp_path / "tasks.jsonl", tmp_path / "elsewhere"
    tasks.write_text("".join(lines[:-1]))
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    tam("train", "tasks.jsonl", "--preset", "smoke", "--out", "run")
    monkeypatch.chdir(elsewhere)
    assert "nan" not in said("eval", "../run")
    result = json.loads((tmp_path / "run" / "result.json").read_text(), parse_constant=pytest.fail)
    assert result["scores"][0]["accuracy_interval"] is None
    tasks.write_text(
        "".join(lines[:-1]).replace("test", "hold").replace("valid", "test").replace("hold", "valid")
    )
    with pytest.raises(SystemExit, match="give it the tasks it started with"):
        tam("eval", "../run")
    tasks.write_text("".join(lines[:-1]))
    with pytest.raises(SystemExit, match="--device"):
        tam("eval", "../run", "--device", "cuda")
