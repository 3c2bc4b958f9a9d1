"""Task files are read: tokens, labels, names, splits and folders, and the examples of the documentation."""

import json
import os
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tam.errors import UserError
from tam.tasks import assemble, jsonl_schema
from tam.tasks.jsonl import read_tasks
from tam.tasks.task import Classes
from tests.tasks.jsonl_files import message, names, record, save

REPOSITORY = Path(__file__).parents[2]
SHARED_DATA = Path(os.environ.get("TAM_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))


def test_reads_classification(tmp_path: Path) -> None:
    examples = [{"x": ["b", 2], "y": "yes"}, {"x": [], "y": 10}, {"x": [10, "a", 2], "y": 9}]
    splits = {"t": "test", "v": "valid", "b": "train", "a": "train"}
    lines = [record(name, split=split) for name, split in splits.items()]
    file = save(tmp_path, [{**lines[0], "examples": examples}, *lines[1:]])
    tasks = read_tasks(file, seed=7)  # which has no effect: the lines give the splits
    assert list(tasks.splits) == ["train", "valid", "test"]
    assert names(tasks) == {"train": ["b", "a"], "valid": ["v"], "test": ["t"]}
    assert tasks.vocabulary.tokens == (1, 2, 10, "a", "b")
    assert tasks.options == {"path": str(file)}
    task = tasks.test[0]
    assert isinstance(task.y, Classes)
    assert task.y.labels == (9, 10, "yes")
    assert [example._asdict() for example in task] == examples
    assert task.x.ids.dtype == np.uint8


def test_reads_transduction_with_primitives(tmp_path: Path) -> None:
    examples = [{"x": ["ä", "b"], "y": ["b", "ä", 3]}, {"x": [], "y": []}]
    fields = {"kind": "transduction", "examples": examples, "primitives": ["reverse", "reverse"]}
    tasks = read_tasks(save(tmp_path, [record(name, **fields) for name in "abc"]))
    assert tasks.vocabulary.tokens == (3, "b", "ä")
    assert tasks.valid[0].primitives == ("reverse", "reverse")
    assert [example._asdict() for example in tasks.test[0]] == examples


@pytest.mark.parametrize(
    ("examples", "tokens"),
    [
        ([{"x": [], "y": 0}], ()),
        ([{"x": [1, "1"], "y": "1"}, {"x": [2**70], "y": 1}], (1, 2**70, "1")),
        ([{"x": ["\U0001f600"], "y": 0}], ("\U0001f600",)),  # in the file, an escaped pair of surrogates
    ],
)
def test_tokens(examples: list[dict[str, Any]], tokens: tuple[int | str, ...], tmp_path: Path) -> None:
    tasks = read_tasks(save(tmp_path, [record(name, examples=examples) for name in "abc"]))
    assert tasks.vocabulary.tokens == tokens
    assert [example._asdict() for example in tasks.train[0]] == examples


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    for file in (tmp_path / "none.jsonl", loop):
        assert message(file).startswith(f"{file}: cannot be read: ")
    assert message(tmp_path).startswith(f"{tmp_path}: a folder must have")
    with pytest.raises(UserError, match="file name"):
        read_tasks("a\0b")
    file = tmp_path / "tasks.jsonl"
    for content in (b"", b"\n \n", b"\xef\xbb\xbf"):
        file.write_bytes(content)
        assert message(file).startswith(f"{file}: empty")
    lines = ["", json.dumps(record("a")), "  ", json.dumps(record("b")), json.dumps(record("c"))]
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())  # as on Windows
    assert {task.name for task in read_tasks(file)} == {"a", "b", "c"}


# Files that ask for too much memory


def test_long_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [json.dumps(record(name)) for name in "abc"]
    file = save(tmp_path, lines)
    monkeypatch.setattr(jsonl_schema, "LINE_LIMIT", len(lines[0]))
    read_tasks(file)
    save(tmp_path, [*lines, lines[0] + " "])
    assert message(file).startswith(f"{file}:4: longer than the limit of {len(lines[0])} bytes")


@pytest.mark.parametrize(("factor", "fits"), [(3, False), (4, True)])
def test_padding_must_fit_into_memory(
    factor: int, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tasks of a file together: here 25 tokens each, padded to 100."""
    monkeypatch.setattr(assemble, "PADDED_LIMIT", 250)
    monkeypatch.setattr(assemble, "PADDING_FACTOR", factor)
    padded = [{"x": [1] * 20, "y": [1] * 5}, *[{"x": [], "y": []}] * 3]
    file = save(tmp_path, [record(name, kind="transduction", examples=padded) for name in "abc"])
    if fits:
        assert len(read_tasks(file)) == 3
    else:
        assert message(file).startswith(f"{file}:3: ")
        assert "at most 12 tokens" in message(file)


@pytest.mark.slow
def test_padding_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    """In a file of 1 MB, the examples of one task would be padded to 64 001 × 16 000 numbers."""
    examples = [{"x": [1] * 16_000, "y": 0}, *[{"x": [], "y": 0}] * 64_000]
    file = save(tmp_path, [record(name, examples=examples) for name in "abc"])
    tracemalloc.start()
    assert message(file).startswith(f"{file}:1: ")
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()


# Splits


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
    missing = tmp_path / "none.json"
    assert message(tmp_path, splits=missing).startswith(f"{missing}: cannot be read")


@pytest.mark.parametrize(
    ("count", "sizes"), [(3, (1, 1, 1)), (14, (12, 1, 1)), (15, (11, 2, 2)), (100, (80, 10, 10))]
)
def test_sizes_of_drawn_splits(count: int, sizes: tuple[int, int, int], tmp_path: Path) -> None:
    tasks = read_tasks(save(tmp_path, [record(str(index)) for index in range(count)]))
    assert (len(tasks.train), len(tasks.valid), len(tasks.test)) == sizes


def test_splits_that_cannot_be(tmp_path: Path) -> None:
    file = save(tmp_path, [record("a"), record("b")])
    assert "at least 3 tasks" in message(file)
    save(tmp_path, [record("a", split="train"), record("b", split="test_x")])
    assert "no valid tasks" in message(file)
    save(tmp_path, [record("a", split="train"), record("b")])
    assert message(file).startswith(f"{file}:2: split must be in every task")
    save(tmp_path, [record("a", split="train")])
    splits_file = save(tmp_path, [{"train": ["a"]}], "splits.json")
    assert message(tmp_path).startswith(f"{file}: ")
    assert str(splits_file) in message(tmp_path)


@pytest.mark.parametrize("seed", ["a", 1.9, True, -1, 2**63])
def test_bad_seed(seed: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^seed must be an integer"):
        read_tasks(save(tmp_path, [record(name) for name in "abcd"]), seed=seed)


def test_drawn_splits_depend_only_on_names_and_seed(tmp_path: Path) -> None:
    lines = [record(f"task {index}") for index in range(30)]
    file = save(tmp_path, lines)
    assert names(read_tasks(file))["test"] == ["task 11", "task 15", "task 21"]
    seeds: tuple[Any, ...] = (0, np.int64(1))
    for seed in seeds:
        drawn = read_tasks(save(tmp_path, lines), seed=seed)
        assert drawn.options["seed"] == seed
        backwards = names(read_tasks(save(tmp_path, lines[::-1]), seed=seed))
        assert names(drawn) == {split: members[::-1] for split, members in backwards.items()}
    assert names(read_tasks(file, seed=0))["test"] != names(read_tasks(file, seed=1))["test"]


# The documentation, and real data


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


TEST_SPLITS = {"test_unseen_tag": 38, "test_unseen_language": 64}
SHARED: dict[str, tuple[int, int, dict[str, int]]] = {
    "banking77_binary": (1860, 7700, {"train": 51, "valid": 13, "test": 13}),
    "inflection": (223, 21086, {"train": 228, "valid": 38, **TEST_SPLITS}),
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
    assert [example._asdict() for example in task] == first["examples"]
    tasks.write(tmp_path / "tasks.jsonl")
    assert read_tasks(tmp_path / "tasks.jsonl").fingerprint == tasks.fingerprint
