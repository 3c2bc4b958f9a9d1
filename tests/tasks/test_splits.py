"""Splits are as a file or the lines say, or drawn from the names and a seed."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tam.errors import UserError
from tam.tasks.jsonl import read_tasks
from tests.tasks.jsonl_files import message, names, record, save


def test_folder_with_splits(tmp_path: Path) -> None:
    save(tmp_path, [record(name) for name in "abcd"])
    beside = save(
        tmp_path, [{"test_b": ["b"], "valid": ["c"], "test_a": ["d"], "train": ["a"]}], "splits.json"
    )
    tasks = read_tasks(str(tmp_path))
    assert list(tasks.splits) == ["train", "valid", "test_b", "test_a"]
    assert names(tasks) == {"train": ["a"], "valid": ["c"], "test_b": ["b"], "test_a": ["d"]}
    assert tasks.options == {"path": str(tmp_path), "splits": str(beside)}
    # The file alone has no splits, and others may be given for the folder.
    assert read_tasks(tmp_path / "tasks.jsonl").options["seed"] == 0
    other = save(tmp_path, [{"train": ["d", "b"], "valid": ["c"], "test": ["a"]}], "other.json")
    assert names(read_tasks(tmp_path, splits=other)) == {"train": ["b", "d"], "valid": ["c"], "test": ["a"]}


BAD_SPLITS: dict[str, tuple[str, str]] = {
    "not JSON": ('{\n"train": ["a"]\n"valid": []}', ":3: not JSON: Expecting ',' delimiter at column 1"),
    "empty": ("", ":1: not JSON: Expecting value"),
    "a list": ("[]", ": expected an object"),
    "names no list": ('{"train": "a"}', ": split 'train': expected a list of task names"),
    "name of wrong type": (
        '{"train": [1]}',
        ": split 'train': expected a list of task names, all of them strings",
    ),
    "no task": (
        '{"train": ["a", "z"], "valid": ["b"], "test": ["c"]}',
        ": split 'train' names 'z', but there is no",
    ),
    "in two splits": (
        '{"train": ["a"], "valid": ["b"], "test": ["c", "a"]}',
        ": task 'a' is in split 'train' and again in 'test'",
    ),
    "in no split": (
        '{"train": ["a"], "valid": ["b"], "test": ["c"]}',
        ": task 'd' is in no split: name every task",
    ),
    "no train": ('{"valid": ["a", "b"], "test": ["c", "d"]}', ": no train tasks"),
    "no valid and no test": ('{"train": ["a", "b", "c", "d"]}', ": no valid and no test tasks"),
    "empty split": ('{"train": ["a", "b", "c"], "valid": ["d"], "test": []}', ": split 'test' is empty"),
    "unknown split": (
        '{"train": ["a"], "dev": ["b"]}',
        ": unknown split 'dev': expected 'train', 'valid', 'test'",
    ),
    "repeated split": ('{"train": ["a"], "train": ["b"]}', ": an object has the field 'train' twice"),
    "lone surrogate": (r'{"train": ["\ud800"]}', r": a string has the lone surrogate \ud800"),
}


@pytest.mark.parametrize("case", BAD_SPLITS)
def test_bad_splits_file(case: str, tmp_path: Path) -> None:
    content, expected = BAD_SPLITS[case]
    file = save(tmp_path, [record(name) for name in "abcd"])
    splits_file = tmp_path / "my-splits.json"
    splits_file.write_text(content)
    assert message(file, splits=splits_file).startswith(f"{splits_file}{expected}")


def test_missing_splits_file(tmp_path: Path) -> None:
    file = save(tmp_path, [record(name) for name in "abcd"])
    assert message(file, splits=tmp_path / "none.json").startswith(
        f"{tmp_path / 'none.json'}: cannot be read"
    )


def test_splits_file_and_split_field(tmp_path: Path) -> None:
    file = save(tmp_path, [record("a", split="train")])
    splits_file = save(tmp_path, [{"train": ["a"]}], "splits.json")
    assert message(tmp_path) == f"{file}:1: 'split' is given here and in {splits_file}: keep one of the two"


def test_incomplete_split_fields(tmp_path: Path) -> None:
    file = save(tmp_path, [record("a", split="train"), record("b", split="test_x")])
    assert message(file) == f"{file}: no valid tasks: a task set has train, valid and test tasks"


def test_seed_without_effect(tmp_path: Path) -> None:
    file = save(
        tmp_path,
        [record(name, split=split) for name, split in zip("abc", ("train", "valid", "test"), strict=True)],
    )
    assert message(file, seed=0).startswith(
        f"{file}: gives the splits, so seed=0 would have no effect: leave"
    )
    save(tmp_path, [record(name) for name in "abc"])
    splits_file = save(tmp_path, [{"train": ["a"], "valid": ["b"], "test": ["c"]}], "splits.json")
    assert message(tmp_path, seed=3).startswith(f"{splits_file}: gives the splits, so seed=3")


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_tasks_to_split(count: int, tmp_path: Path) -> None:
    file = save(tmp_path, [record(str(index)) for index in range(count)])
    assert message(file).startswith(
        f"{file}: only {count} of the 3 tasks that train, valid and test need at least"
    )


@pytest.mark.parametrize(
    ("count", "sizes"), [(3, (1, 1, 1)), (14, (12, 1, 1)), (15, (11, 2, 2)), (100, (80, 10, 10))]
)
def test_sizes_of_drawn_splits(count: int, sizes: tuple[int, int, int], tmp_path: Path) -> None:
    tasks = read_tasks(save(tmp_path, [record(str(index)) for index in range(count)]))
    assert (len(tasks.train), len(tasks.valid), len(tasks.test)) == sizes


@pytest.mark.parametrize("seed", ["a", 1.9, True, -1, 2**63, 10**30])
def test_a_seed_is_one_that_benchmarks_take_too(seed: Any, tmp_path: Path) -> None:
    file = save(tmp_path, [record(name) for name in "abcd"])
    with pytest.raises(UserError, match=f"^seed is an integer from 0 to 9223372036854775807, not {seed!r}$"):
        read_tasks(file, seed=seed)
    numpys: Any = np.int64(3)
    assert read_tasks(file, seed=numpys).options == read_tasks(file, seed=3).options


def test_drawn_splits_depend_on_names_and_seed_alone(tmp_path: Path) -> None:
    lines = [record(f"task {index}") for index in range(30)]

    def drawn(seed: int | None) -> dict[str, set[str]]:
        tasks = read_tasks(save(tmp_path, lines), seed=seed)
        assert tasks.options["seed"] == (seed or 0)
        assert [task.name for task in tasks.train] == [
            line["task"] for line in lines if line["task"] in names(tasks)["train"]
        ]
        return {split: set(members) for split, members in names(tasks).items()}

    first, other = drawn(None), drawn(1)
    assert first["test"] == {"task 11", "task 15", "task 21"}
    assert first != other
    random.Random(0).shuffle(lines)
    assert drawn(0) == first
    assert drawn(1) == other
