"""Task files are read: tokens, labels, names and folders, and the examples of the documentation."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from tam.tasks.jsonl import read_tasks, write_tasks
from tam.tasks.task import Classes
from tests.tasks.jsonl_files import message, names, record, save

REPOSITORY = Path(__file__).parents[2]
SHARED_DATA = Path(os.environ.get("TAM_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))


def test_reads_classification(tmp_path: Path) -> None:
    examples = [{"x": ["b", 2], "y": "yes"}, {"x": [], "y": 10}, {"x": [10, "a", 2], "y": 9}]
    file = save(
        tmp_path,
        [
            record("t", split="test", examples=examples),
            record("v", split="valid"),
            record("b", split="train"),
            record("a", split="train"),
        ],
    )
    tasks = read_tasks(file)
    assert list(tasks.splits) == ["train", "valid", "test"]
    assert names(tasks) == {"train": ["b", "a"], "valid": ["v"], "test": ["t"]}
    assert tasks.vocabulary.tokens == (1, 2, 10, "a", "b")
    assert tasks.options == {"path": str(file)}
    task = tasks.test[0]
    assert isinstance(task.y, Classes)
    assert task.y.labels == (9, 10, "yes")
    assert [(example.x, example.y) for example in task] == [(e["x"], e["y"]) for e in examples]
    assert task.x.ids.dtype == np.uint8


def test_reads_transduction_with_primitives(tmp_path: Path) -> None:
    examples = [{"x": ["ä", "b"], "y": ["b", "ä", 3]}, {"x": [], "y": []}]
    fields = {"kind": "transduction", "examples": examples, "primitives": ["reverse", "reverse"]}
    tasks = read_tasks(save(tmp_path, [record(name, **fields) for name in "abc"]))
    assert tasks.vocabulary.tokens == (3, "b", "ä")
    for task in tasks:
        assert task.primitives == ("reverse", "reverse")
        assert [(example.x, example.y) for example in task] == [(e["x"], e["y"]) for e in examples]


def test_reads_tasks_without_any_token(tmp_path: Path) -> None:
    tasks = read_tasks(save(tmp_path, [record(name, examples=[{"x": [], "y": 0}]) for name in "abc"]))
    assert len(tasks.vocabulary) == 0
    assert tasks.train[0][0] == ([], 0)


def test_integers_and_strings_that_look_alike_differ(tmp_path: Path) -> None:
    examples = [{"x": [1, "1"], "y": "1"}, {"x": [2**70], "y": 1}]
    tasks = read_tasks(save(tmp_path, [record(name, examples=examples) for name in "abc"]))
    assert tasks.vocabulary.tokens == (1, 2**70, "1")
    assert tasks.n_classes == 2


def test_blank_lines_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    lines = ["", json.dumps(record("a")), "  ", json.dumps(record("b")), json.dumps(record("c"))]
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    assert {task.name for task in read_tasks(file)} == {"a", "b", "c"}


def test_escaped_pairs_of_surrogates_are_characters(tmp_path: Path) -> None:
    file = save(tmp_path, [record(name, examples=[{"x": ["\U0001f600"], "y": 0}]) for name in "abc"])
    assert r"\ud83d\ude00" in file.read_text()
    assert read_tasks(file).vocabulary.tokens == ("\U0001f600",)


def test_missing_file(tmp_path: Path) -> None:
    file = tmp_path / "none.jsonl"
    assert message(file) == f"{file}: cannot be read: No such file or directory"


def test_unreadable_file(tmp_path: Path) -> None:
    file = tmp_path / "loop.jsonl"
    file.symlink_to(file)
    assert message(file).startswith(f"{file}: cannot be read: ")


def test_folder_without_tasks(tmp_path: Path) -> None:
    assert (
        message(tmp_path) == f"{tmp_path}: a folder without tasks.jsonl: give a file, or a folder that has it"
    )


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_empty_file(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_bytes(content)
    assert message(file) == f"{file}: empty: expected one task a line"


def test_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (REPOSITORY / "docs" / "tasks.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL))
    monkeypatch.chdir(tmp_path)
    Path("tasks.jsonl").write_text(blocks["json"], encoding="utf-8")
    assert names(read_tasks("tasks.jsonl")) == {
        "train": ["vowels", "long words"],
        "valid": ["s"],
        "test": ["e"],
    }
    assert read_tasks("tasks.jsonl").train[0][1] == (["a", "r", "e"], 2)
    Path("tasks.jsonl").write_text(blocks["json"].replace('["t", "o"]', '["t", 1.5]'), encoding="utf-8")
    assert message(Path("tasks.jsonl")) == blocks["text"].strip()


SHARED: dict[str, tuple[int, int, dict[str, int]]] = {
    "banking77_binary": (1860, 7700, {"train": 51, "valid": 13, "test": 13}),
    "inflection": (
        223,
        21086,
        {"train": 228, "valid": 38, "test_unseen_tag": 38, "test_unseen_language": 64},
    ),
    "list_functions": (100, 8000, {"train": 150, "valid": 50, "test": 50}),
}


@pytest.mark.skipif(
    not SHARED_DATA.is_dir(), reason="the shared data is not here; TAM_SHARED_DATA names its folder"
)
@pytest.mark.parametrize("name", SHARED)
def test_shared_data(name: str, tmp_path: Path) -> None:
    tokens, examples, sizes = SHARED[name]
    tasks = read_tasks(SHARED_DATA / name)
    assert len(tasks.vocabulary) == tokens
    assert sum(len(task) for task in tasks) == examples
    assert {split: len(members) for split, members in tasks.splits.items()} == sizes
    first = json.loads((SHARED_DATA / name / "tasks.jsonl").read_text(encoding="utf-8").split("\n")[0])
    task = next(task for task in tasks if task.name == first["task"])
    assert [{"x": example.x, "y": example.y} for example in task] == first["examples"]
    write_tasks(tasks, tmp_path / "tasks.jsonl")
    assert read_tasks(tmp_path / "tasks.jsonl").fingerprint == tasks.fingerprint
