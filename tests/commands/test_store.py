"""`tam store …`: what is put is listed, shown, used, moved and learned again."""

from pathlib import Path

import pytest

from tests.commands.own import Said, write_examples
from tests.in_process import tam


def test_a_store_from_the_command_line(finished: Path, tmp_path: Path, said: Said) -> None:
    file, run, given = str(tmp_path / "tasks.db"), str(finished), tmp_path / "examples.jsonl"

    for name, letter in (("first", "a"), ("second", "b"), ("third", "c")):
        write_examples(given, [{"x": [letter, "x"], "y": "yes"}, {"x": ["x"], "y": "no"}])
        assert f"learned {name} from 2 examples" in said(
            "store", "put", file, name, run, str(given), "--notes", "mine"
        )
    with pytest.raises(SystemExit, match="'first' already"):
        tam("store", "put", file, "first", run, str(given))
    assert "has 3 tasks" in said("store", "put", file, "first", run, str(given), "--replace")
    assert [line.split()[0] for line in said("store", "list", file).splitlines()[1:]] == [
        "first",
        "second",
        "third",
    ]
    assert said("store", "list", file, "--search", "ir").splitlines()[-1] == "2 of 3 tasks"
    assert said("store", "list", file, "--search", "none") == "0 of 3 tasks\n"
    rule = str(tmp_path / "rule.json")
    shown = said("store", "get", file, "second", "--out", rule)
    assert "  b x  →  yes\n" in shown
    with pytest.raises(SystemExit, match="not a task embedding"):
        tam("store", "get", file, "second", "--out", str(given))
    tam("predict", run, rule, "b x")
    assert len(said("store", "nearest", file, "first").splitlines()) == 3
    said("store", "rename", file, "third", "last")
    said("store", "annotate", file, "last", "new notes")
    assert "new notes" in said("store", "get", file, "last")
    said("store", "remove", file, "second")
    exported, copy = str(tmp_path / "tasks.jsonl"), str(tmp_path / "copy.db")
    assert said("store", "export", file, exported) == f"2 tasks written to {exported}\n"
    assert said("store", "import", copy, exported) == f"2 tasks read; {copy} has 2\n"
    assert said("store", "list", copy) == said("store", "list", file)
    no = str(tmp_path / "no.db")
    for words in (["get", file, "none"], ["list", no], ["import", copy, no]):
        with pytest.raises(SystemExit, match=r"^error: .*there is no"):
            tam("store", *words)
    assert not Path(no).exists()


@pytest.mark.slow
def test_another_model_learns_the_tasks_again(
    finished: Path, small_tasks: Path, tmp_path: Path, said: Said
) -> None:
    file, other, given = str(tmp_path / "tasks.db"), str(tmp_path / "other"), tmp_path / "examples.jsonl"
    write_examples(given, [{"x": ["a", "x"], "y": "yes"}, {"x": ["x"], "y": "no"}])
    tam("store", "put", file, "first", str(finished), str(given))
    tam("train", str(small_tasks), "--preset", "smoke", "--seed", "1", "--out", other)
    with pytest.raises(SystemExit, match=r"belong to another model .* tam store readapt"):
        tam("store", "put", file, "second", other, str(given))
    assert "1 task learned again" in said("store", "readapt", file, other)
    tam("store", "put", file, "second", other, str(given))
    with pytest.raises(SystemExit, match="belong to another model"):
        tam("store", "put", file, "third", str(finished), str(given))
