"""`tam compare` and `tam eval --tasks`: runs side by side, on their tasks or on those of a file."""

import json
from pathlib import Path

import pytest

from tests.commands.own import Said, train_nearest
from tests.in_process import tam


@pytest.fixture(scope="module")
def nearest(small_tasks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "nearest"
    words = ("--preset", "smoke", "--method", "nearest", "--shots", "1", "5")
    tam("train", str(small_tasks), *words, "--out", str(folder))
    return folder


def test_runs_stand_side_by_side(finished: Path, nearest: Path, said: Said) -> None:
    title, head, *rows = said("compare", str(nearest), str(finished), "--shots", "1", "2").splitlines()
    assert title.endswith("tasks.jsonl, test")
    assert head.split() == ["accuracy", "at", "k", "=", "1", "2"]
    cells = {row.partition("  ")[0] or "difference": row.split()[-8:] for row in rows}
    first, second = cells[f"{nearest} (nearest)"], cells[f"{finished} (tam)"]
    numbers = [float(row[0]) for row in (first, second)]
    difference = next(row for row in rows if row.startswith("  difference"))
    assert float(difference.split()[1]) == pytest.approx(numbers[1] - numbers[0], abs=0.11)
    floor = next(row for row in rows if row.startswith("floor: nearest neighbour"))
    assert floor.split()[3:] == first  # the method is the floor, on the same supports
    assert sum(row.startswith("floor: ") for row in rows) == 4


def test_runs_of_other_protocols_are_scored_alike(
    finished: Path, small_tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(tmp_path / "other")
    words = ("--method", "nearest", "--shots", "1", "--supports", "1", "--queries", "2", "--out", other)
    tam("train", str(small_tasks), "--preset", "smoke", *words)
    capsys.readouterr()
    tam("compare", str(finished), other, "--shots", "1")
    out, err = capsys.readouterr()
    assert err.startswith(f"note: {other} is scored with supports ")
    assert err.endswith(f", as {finished} was\n")
    cells = {row.partition("  ")[0]: row.split()[-3:] for row in out.splitlines()}
    assert cells[f"{other} (nearest)"] == cells["floor: nearest neighbour"]
    tam("compare", str(finished), str(finished), "--shots", "1")
    assert capsys.readouterr().err == ""


def test_runs_on_other_data_have_a_table_of_their_own(
    finished: Path, small_tasks: Path, tmp_path: Path, said: Said
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(small_tasks.read_text().replace('"task": "l"', '"task": "L"'))
    words = ("--preset", "smoke", "--method", "nearest", "--shots", "1", "--out", str(tmp_path / "r"))
    tam("train", str(other), *words)
    both = ("compare", str(finished), str(tmp_path / "r"))
    printed = said(*both)
    assert "difference" not in printed
    assert printed.count("accuracy at k =") == 2
    printed = said(*both, "--shots", "1", "--tasks", str(other))
    assert printed.count("accuracy at k =") == 1
    assert "difference" in printed


def test_labels_and_sequences_of_one_file_have_a_table_each(tmp_path: Path, said: Said) -> None:
    table, runs = tmp_path / "tasks.csv", [str(tmp_path / "labels"), str(tmp_path / "sequences")]
    rows = [f"{task},{x},{y}" for task in "abc" for x, y in (("1 2", "no"), ("2", "yes")) * 3]
    table.write_text("\n".join(["task,x,y", *rows]))
    for run, kind in zip(runs, ("classification", "transduction"), strict=True):
        words = ("--preset", "smoke", "--method", "nearest", "--shots", "1", "--kind", kind, "--out", run)
        tam("train", str(table), *words)
    printed = said("compare", *runs, "--tasks", str(table))
    assert "difference" not in printed
    assert printed.index("accuracy at k =") < printed.index("exact match at k =")


def test_a_run_is_scored_on_the_tasks_of_a_file(
    finished: Path, small_tasks: Path, tmp_path: Path, said: Said
) -> None:
    expected = said("eval", str(finished))
    lines = [json.loads(line) for line in small_tasks.read_text().splitlines()]
    test = [line for line in lines if line.pop("split") == "test"]
    file = tmp_path / "new.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in test))
    assert said("eval", str(finished), "--tasks", str(file)) == expected
    file.write_text(json.dumps(test[0] | {"kind": "transduction", "examples": [{"x": ["a"], "y": ["b"]}]}))
    with pytest.raises(SystemExit, match="is of kind transduction"):
        tam("eval", str(finished), "--tasks", str(file))
    with pytest.raises(SystemExit, match=r"none\.jsonl: cannot be read"):
        tam("eval", str(finished), "--tasks", str(tmp_path / "none.jsonl"))


def test_digits_are_the_tokens_of_the_run_and_unknown_tokens_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table in which one cell is no integer has strings, where the run has integers."""
    examples = [{"x": [n % 4], "y": n % 2} for n in range(8)]
    run, table = train_nearest(tmp_path, "classification", examples), tmp_path / "new.csv"
    table.write_text("task,x,y\nnew,what,0\n" + "".join(f"new,{n % 4},{n % 2}\n" for n in range(8)))
    for command in ("eval", "compare"):
        tam(command, run, "--tasks", str(table))
        note = f"note: 1 of 9 tokens of {table} are unknown to {run}: 'what'\n"
        assert capsys.readouterr().err.endswith(note)


def test_the_end_of_training_says_whether_it_is_worth_it(finished: Path, said: Said) -> None:
    result = json.loads((finished / "result.json").read_text())
    gains = result["gains"]["test"]
    printed = said("eval", str(finished))
    for place, gain in enumerate(gains):
        best = max(scores[place]["accuracy"] for scores in result["floors"]["test"].values())
        assert gain["difference"] == pytest.approx(result["scores"][place]["accuracy"] - best)
        assert f"{100 * gain['difference']:+.1f}" in printed
    assert "the model is" in printed
