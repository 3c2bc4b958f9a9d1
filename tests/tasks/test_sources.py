"""The same tasks from every source, in memory and in files, and what errors say about them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tam
from tam.errors import UserError
from tests.tasks.jsonl_files import names

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

SPLITS = {"upper": "train", "lower": "train", "first": "valid", "last": "test"}
LABELS: dict[str, list[tuple[list[int], str]]] = {
    task: [([number, 1, place], "yes" if number % 2 else "no") for number in range(4)]
    for place, task in enumerate(SPLITS)
}
SEQUENCES: dict[str, list[tuple[list[str], list[str]]]] = {
    task: [(list(word), list(word[::-1])) for word in ("tea", "cup", "ä b")] for task in SPLITS
}


def as_jsonl(tasks: Any, kind: str, folder: Path) -> tam.TaskSet:
    """The set as a JSONL file gives it: what every other source must give."""
    file = folder / "tasks.jsonl"
    lines = [
        {
            "task": name,
            "kind": kind,
            "split": SPLITS[name],
            "examples": [{"x": x, "y": y} for x, y in examples],
        }
        for name, examples in tasks.items()
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return tam.read_tasks(file)


def rows_of(tasks: Any) -> list[dict[str, Any]]:
    return [
        {"task": name, "x": x, "y": y, "split": SPLITS[name]} for name, some in tasks.items() for x, y in some
    ]


def write_csv(rows: list[dict[str, Any]], file: Path) -> str:
    with open(file, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0], delimiter="\t" if file.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return str(file)


def in_cells(rows: list[dict[str, Any]], joined: str) -> list[dict[str, Any]]:
    """Lists as the text of a cell."""
    return [
        {name: joined.join(map(str, cell)) if isinstance(cell, list) else cell for name, cell in row.items()}
        for row in rows
    ]


def in_json(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        row | {name: json.dumps(row[name]) for name in "xy" if isinstance(row[name], list)} for row in rows
    ]


def by_split(tasks: Any) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, examples in tasks.items():
        found.setdefault(SPLITS[name], {})[name] = examples
    return found


def dataset_dict(rows: list[dict[str, Any]]) -> Any:
    """As Hugging Face gives it: a dataset for each split, which has another name for that of validation."""
    from datasets import Dataset, DatasetDict

    hugging = {"train": "train", "valid": "validation", "test": "test"}
    return DatasetDict(
        {
            other: Dataset.from_list(
                [{k: row[k] for k in ("task", "x", "y")} for row in rows if row["split"] == own]
            )
            for own, other in hugging.items()
        }
    )


SOURCES: dict[str, Callable[[Any, Path], Any]] = {
    "dictionaries by split": lambda tasks, _: by_split(tasks),
    "rows": lambda tasks, _: rows_of(tasks),
    "tasks": lambda tasks, _: [
        {"task": name, "split": SPLITS[name], "examples": some} for name, some in tasks.items()
    ],
    "lines of JSONL": lambda tasks, folder: [
        json.loads(line) for line in (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    ],
    "pandas": lambda tasks, _: pd.DataFrame(rows_of(tasks)),
    "pyarrow": lambda tasks, _: pa.Table.from_pylist(rows_of(tasks)),
    "dataset": lambda tasks, _: dataset_dict(rows_of(tasks)),
    "parquet": lambda tasks, folder: (
        pd.DataFrame(rows_of(tasks)).to_parquet(folder / "t.parquet") or folder / "t.parquet"
    ),
    "csv of JSON": lambda tasks, folder: write_csv(in_json(rows_of(tasks)), folder / "t.csv"),
    "rows of tasks in turn": lambda tasks, _: [
        row
        for turn in range(4)
        for row in rows_of({name: some[turn : turn + 1] for name, some in tasks.items()})
    ],
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_set_of_the_jsonl(source: str, tmp_path: Path) -> None:
    for tasks, kind in ((LABELS, "classification"), (SEQUENCES, "transduction")):
        expected = as_jsonl(tasks, kind, tmp_path)
        found = tam.tasks_from(SOURCES[source](tasks, tmp_path))
        assert found.kind == kind
        assert found.fingerprint == expected.fingerprint


def test_words_of_a_table_are_integers_if_all_are(tmp_path: Path) -> None:
    rows = in_cells(rows_of(LABELS), " ")
    expected = as_jsonl(LABELS, "classification", tmp_path).fingerprint
    assert tam.tasks_from(write_csv(rows, tmp_path / "t.tsv")).fingerprint == expected
    assert tam.read_tasks(write_csv(rows, tmp_path / "t.csv")).fingerprint == expected
    rows[0]["x"] = "a 1 0"
    assert tam.tasks_from(rows).train[0][1].x == ["1", "1", "0"]
    for row in rows:
        row["y"] = "03" if row["y"] == "no" else "4"
    assert tam.read_tasks(write_csv(rows, tmp_path / "t.csv")).train[0][0].y == "03"
    for row in rows:
        row["y"] = row["y"].lstrip("0")
    assert tam.read_tasks(write_csv(rows, tmp_path / "t.csv")).train[0][0].y == 3


def test_strings_in_lists_stay_strings(tmp_path: Path) -> None:
    """Only words of text become integers: `1` and `"1"` are different tokens."""
    numerals = {task: [(["1", "2"], "a"), (["3"], "b")] for task in SPLITS}
    expected = as_jsonl(numerals, "classification", tmp_path).fingerprint
    assert tam.tasks_from(by_split(numerals)).fingerprint == expected
    cells = [row | {"x": "3" if row["x"] == ["3"] else "[1, 2]"} for row in rows_of(numerals)]
    assert tam.read_tasks(write_csv(cells, tmp_path / "t.csv")).vocabulary.tokens == (1, 2, 3)


def test_text_is_split_as_asked(tmp_path: Path) -> None:
    expected = as_jsonl(SEQUENCES, "transduction", tmp_path).fingerprint
    rows = in_cells(rows_of(SEQUENCES), "")
    assert tam.tasks_from(rows, text="characters", kind="transduction").fingerprint == expected
    texts = tmp_path / "texts.jsonl"
    lines = [
        {"task": name, "kind": "transduction", "split": SPLITS[name]}
        | {"examples": [{"x": "".join(x), "y": "".join(y)} for x, y in some]}
        for name, some in SEQUENCES.items()
    ]
    texts.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = tam.read_tasks(texts, text="characters")
    assert (found.fingerprint, found.options["text"]) == (expected, "characters")
    with pytest.raises(UserError, match=r"texts.jsonl:1: .*list of tokens: got 'tea'; to split text"):
        tam.read_tasks(texts)
    words = tam.tasks_from({name: [("a [b] 3", 0)] for name in "abc"}, text="words")
    assert words.train[0][0].x == ["a", "[b]", "3"]


def test_tasks_in_a_list_have_the_kind_they_say() -> None:
    lines = [{"task": name, "kind": "transduction", "examples": [("a b", "b a")]} for name in "abc"]
    assert tam.tasks_from(lines).train[0][0].y == ["b", "a"]
    different = [("a", "one"), ("b", "two"), ("c", "three"), ("d", "four")]
    lines = [{"task": name, "kind": "classification", "examples": different} for name in "abc"]
    assert tam.tasks_from(lines).n_classes == 4


def test_a_tokenizer_splits_text(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    corpus = ["low lower lowest", "low low"]
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=15, show_progress=False))
    file = str(tmp_path / "tokenizer.json")
    tokenizer.save(file)
    found = tam.tasks_from({name: [("lowest low", 0)] for name in "abc"}, text=file)
    assert "".join(map(str, found.train[0][0].x)) == "lowestlow"
    assert found.train[0][0].x == tokenizer.encode("lowest low").tokens
    assert len(found.train[0][0].x) < 9
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(UserError, match=r"broken.json: not the file of a tokenizer"):
        tam.tasks_from({}, text=str(tmp_path / "broken.json"))
    with pytest.raises(UserError, match=r"text must be .* no file 'letters'"):
        tam.tasks_from({}, text="letters")


def test_columns_of_other_names_and_drawn_splits() -> None:
    frame = pd.DataFrame({"who": [7, 8, 9] * 2, "said": ["a b", "b", "c"] * 2, "meant": ["hi", "no"] * 3})
    found = tam.tasks_from(frame, task="who", x="said", y="meant", seed=3)
    assert sorted(task.name for task in found) == ["7", "8", "9"]
    assert found.options == {"seed": 3}
    numbered = frame.set_axis([0, 1, 2], axis="columns")
    assert tam.tasks_from(numbered, task="0", x="1", y="2", seed=3).fingerprint == found.fingerprint
    with pytest.raises(UserError, match=r"the table: no column 'task': .*got who, said, meant"):
        tam.tasks_from(frame)


def test_splits_by_a_file(tmp_path: Path) -> None:
    file = tmp_path / "splits.json"
    file.write_text(json.dumps({"train": ["upper", "lower"], "valid": ["last"], "test": ["first"]}))
    found = tam.tasks_from(LABELS, splits=file)
    assert names(found) == {"train": ["upper", "lower"], "valid": ["last"], "test": ["first"]}


GOOD = {"task": "a", "x": [1], "y": 0}
BAD: dict[str, tuple[Any, str]] = {
    "no source": (None, "expected a dictionary of tasks, .* got None"),
    "no tasks": ({}, "the tasks: empty"),
    "no examples": ({"a": []}, "task 'a': expected a list of examples"),
    "no pair": ({"a": [([1], 0), 5]}, "task 'a', example 1: expected a pair of x and y: got 5"),
    "other fields": (
        {"a": [{"x": [1], "z": 0}]},
        "task 'a', example 0: an example must have x and y: got x, z",
    ),
    "missing field": ([GOOD, {"task": "a", "x": [1]}], "item 1: no field 'y'"),
    "no object": ([GOOD, 3], "item 1: expected an object with task, x, y: got 3"),
    "float token": (
        [GOOD, GOOD | {"x": [1, 2.5]}],
        r"item 1: x\[1\] must be an integer or a string: got 2.5",
    ),
    "float label": ([GOOD, GOOD | {"y": 1.0}], "item 1: y must be a label, .*: got 1.0"),
    "missing label": ([GOOD, GOOD | {"y": float("nan")}], "item 1: y must be a label, .*: got nothing"),
    "missing input": ([GOOD | {"x": None}], "item 0: x must be text or a list of tokens: got nothing"),
    "no name": ([GOOD | {"task": ""}], "item 0: task must be a name"),
    "list among labels": ([GOOD, GOOD | {"y": [1]}], r"item 1: y must be a label, .*: got \[1\]"),
    "label among lists": ([GOOD | {"y": [1]}, GOOD], "item 1: y must be text or a list of tokens: got 0"),
    "two splits": (
        [GOOD | {"split": "train"}, GOOD | {"split": "test"}],
        "item 1: a split is a set of whole tasks: task 'a' is in 'test' here and 'train' at item 0",
    ),
    "a task twice": (
        [{"task": "a", "examples": [([1], 0)]}] * 2,
        "item 1: names must differ: 'a' is also item 0",
    ),
    "primitives no list": (
        [{"task": "a", "examples": [([1], 0)], "primitives": "add"}],
        ".* primitives must be",
    ),
    "split of bytes": ([GOOD | {"split": b"train"}], "item 0: split must be .* got b'train'"),
    "two kinds": (
        [
            {"task": "a", "kind": "transduction", "examples": [("x", "y")]},
            {"task": "b", "kind": "classification", "examples": [("x", "y")]},
        ],
        "task 'b', example 0: all tasks must be of one kind",
    ),
    "unknown split": ([GOOD | {"split": "hold"}], "item 0: split must be train, valid, test"),
    "sequences as labels": (
        [{"task": "a", "x": "w", "y": word} for word in ("one", "two", "three", "four")],
        "item 0: the 4 answers of task 'a' all differ: give kind 'transduction' if they are sequences",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_say_where_they_are(case: str) -> None:
    source, message = BAD[case]
    with pytest.raises(UserError, match=f"^{message}"):
        tam.tasks_from(source)


BAD_CSV: dict[str, tuple[bytes, str]] = {
    "no column": (b"task,x\na,1\n", ":1: no column 'y'"),
    "empty": (b"", ": no column 'task': .*got no columns"),
    "too few cells": (b"task,x,y\na,1,0\n\na,1\n", ":4: there must be 3 cells, as in the first line: got 2"),
    "a column twice": (b"task,x,x,y\na,1,2,0\n", ":1: columns must differ: 'x' occurs 2 times"),
    "open quote": (b'task,x,y\na,1,0\na,"1,0\n', ":3: not CSV: unexpected end of data"),
    "not UTF-8": (b"task,x,y\na,\xff,0\n", ": not UTF-8: byte 0xff"),
    "no name": (b"task,x,y\na,1,0\n,1,0\n", ":3: task must be a name"),
    "no label": (b"task,x,y\na,1,0\na,1,\n", ":3: y must be a label, .*: got nothing"),
    "long cell": (b'task,x,y\na,"1\n2",0\n,1,0\n', ":4: task must be a name"),
    "two splits": (b"task,x,y,split\na,1,0,train\nb,1,0,test\na,1,0,test\n", ":4: .*'train' at .*:2"),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_mistakes_in_csv_name_the_line(case: str, tmp_path: Path) -> None:
    content, message = BAD_CSV[case]
    file = tmp_path / "tasks.csv"
    file.write_bytes(content)
    with pytest.raises(UserError, match=f"^{file}{message}"):
        tam.read_tasks(file)


def test_mistakes_in_parquet_name_the_row(tmp_path: Path) -> None:
    file = tmp_path / "tasks.parquet"
    pd.DataFrame({"task": ["a", "b"], "x": [[1], None], "y": [0, 1]}).to_parquet(file)
    with pytest.raises(UserError, match=f"^{file}: row 1: x must be text or a list of tokens: got nothing"):
        tam.read_tasks(file)
    file.write_bytes(b"PAR1")
    with pytest.raises(UserError, match=f"^{file}: not Parquet"):
        tam.read_tasks(file)
    with pytest.raises(UserError, match=r"none\.parquet: cannot be read"):
        tam.read_tasks(tmp_path / "none.parquet")
