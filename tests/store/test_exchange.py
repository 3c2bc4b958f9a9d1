"""Stores as JSONL: written, read back, and refused where something is wrong."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tam
from tam.store.store import OtherModelError, TaskExistsError
from tests.store.small import another, fill


def all_of(store: tam.Store) -> list[Any]:
    return [store.get(one.name) for one in store.list()]


def test_exported_and_imported(store: tam.Store, learner: tam.Learner, tmp_path: Path) -> None:
    fill(store, learner, 4)
    store.annotate("task 001", "notes\nof ☃")
    file = tmp_path / "tasks.jsonl"
    assert store.export(file) == 4
    assert len(file.read_text().splitlines()) == 4
    with pytest.raises(tam.UserError, match="another file"):
        store.export(store.path)  # which would destroy it
    with tam.Store(tmp_path / "other.db") as other:
        with pytest.raises(tam.UserError, match=r"other.db: this is a store of tasks, which"):
            store.export(other.path)
        assert len(other) == 0
    with pytest.raises(tam.UserError, match=r"must not end in \.csv"):
        store.export(tmp_path / "tasks.csv")
    with tam.Store(tmp_path / "copy.db") as copy:
        assert copy.import_file(file) == 4
        assert all_of(copy) == all_of(store)
        assert copy.weights == store.weights
        with pytest.raises(TaskExistsError, match="'task 000' already"):
            copy.import_file(file)
        copy.remove("task 003")
        copy.annotate("task 000", "changed")
        assert copy.import_file(file, replace=True) == 4
        assert all_of(copy) == all_of(store)
    with tam.Store(tmp_path / "copy.db", learner) as copy:
        assert copy.nearest("task 001", 2) == store.nearest("task 001", 2)


def test_tasks_of_another_model_are_not_imported(
    store: tam.Store, learner: tam.Learner, tmp_path: Path
) -> None:
    fill(store, learner, 2)
    store.export(tmp_path / "tasks.jsonl")
    with tam.Store(tmp_path / "other.db", another(learner, seed=4)) as other:
        with pytest.raises(OtherModelError, match="another model"):
            other.import_file(tmp_path / "tasks.jsonl")
        assert len(other) == 0


def without(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda line: {key: value for key, value in line.items() if key != name}


DAMAGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no object": (lambda line: [line], "expected an object"),
    "no examples": (without("examples"), "'examples'"),
    "empty": (lambda line: line | {"examples": []}, "pairs"),
    "example": (lambda line: line | {"examples": [{"x": [1]}]}, "example 0"),
    "name": (lambda line: line | {"task": "a\nb"}, "name"),
    "number": (lambda line: line | {"task": 5}, "task must be a string"),
    "twice": (lambda line: line | {"task": "task 000"}, "names must differ"),
    "weights": (lambda line: line | {"weights": ["others"]}, "weights"),
    "more weights": (lambda line: line | {"weights": [*line["weights"], "b"]}, "another"),
    "embedding": (lambda line: line | {"embedding": {}}, "not a task embedding"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_file_names_its_line_and_changes_nothing(
    case: str, store: tam.Store, learner: tam.Learner, tmp_path: Path
) -> None:
    damage, about = DAMAGES[case]
    fill(store, learner, 3)
    file = tmp_path / "tasks.jsonl"
    store.export(file)
    lines = file.read_text().splitlines()
    lines[1] = json.dumps(damage(json.loads(lines[1])))
    file.write_text("\n".join(lines))
    with tam.Store(tmp_path / "copy.db") as copy:
        with pytest.raises(tam.UserError, match=f"^{re.escape(str(file))}:2: .*{about}"):
            copy.import_file(file)
        assert len(copy) == 0


@pytest.mark.parametrize("content", [b"", b"\n\n", b"{]", b"\xff\xfe"])
def test_files_that_are_no_lines_of_json(content: bytes, store: tam.Store, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_bytes(content)
    with pytest.raises(tam.UserError, match=f"^{re.escape(str(file))}"):
        store.import_file(file)
    with pytest.raises(tam.UserError, match="cannot be read"):
        store.import_file(tmp_path / "none.jsonl")
