import doctest
import json
import os
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tam.errors import UserError
from tam.tasks import jsonl, jsonl_line, splits
from tam.tasks.jsonl import TasksFileError, read_tasks, write_tasks
from tam.tasks.task import Classes, Label, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Token, Vocabulary, sort_key

REPOSITORY = Path(__file__).parents[2]
SHARED_DATA = Path(os.environ.get("TAM_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))

GOOD = '{"task": "first", "kind": "classification", "examples": [{"x": [1, "a"], "y": 0}]}'
EXAMPLES = '"examples": [{"x": [1], "y": 0}]'


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"task": name, "kind": "classification", "examples": [{"x": [1], "y": 0}], **fields}


def save(folder: Path, lines: Iterable[Any], name: str = "tasks.jsonl") -> Path:
    """Write lines, given as text or as values, to a file."""
    file = folder / name
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    return file


def message(file: Path, **options: Any) -> str:
    """The message with which reading this file fails."""
    with pytest.raises(TasksFileError) as caught:
        read_tasks(file, **options)
    assert caught.value.__cause__ is None
    text = str(caught.value)
    assert "\n" not in text
    return text


def names(tasks: TaskSet) -> dict[str, list[str]]:
    return {split: [task.name for task in members] for split, members in tasks.splits.items()}


# Reading


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


# Bad lines

BAD_LINES: dict[str, tuple[str | bytes, str]] = {
    "not UTF-8": (b'{"task": "\xff"}', "not UTF-8: byte 0xff at place 11"),
    "not JSON": ('{"task": "a",', "not JSON: Expecting property name enclosed in double quotes at column 14"),
    "two values": (GOOD + GOOD, f"not JSON: Extra data at column {len(GOOD) + 1}"),
    "NaN": ('{"task": NaN}', "not JSON: NaN is not a JSON value"),
    "infinity": ('{"task": -Infinity}', "not JSON: -Infinity is not"),
    "too many digits": (f'{{"task": {"1" * 5000}}}', "an integer has too many digits: write it as a string"),
    "too deep": ("[" * 200_000, "nested too deeply"),
    "lone surrogate": (
        r'{"task": "a\uD800"}',
        r"a string has the lone surrogate \ud800, which is half a character",
    ),
    "surrogate as field": (r'{"\udfff": 1}', r"lone surrogate \udfff"),
    "repeated field": ('{"task": "a", "kind": "x", "task": "b"}', "an object has the field 'task' twice"),
    "a number": ("7", "expected an object, one task a line, not 7"),
    "a list": ("[]", "expected an object, one task a line, not a list"),
    "no task": (
        f'{{"kind": "classification", {EXAMPLES}}}',
        "no field 'task': a task has task, kind, examples",
    ),
    "no kind": (f'{{"task": "a", {EXAMPLES}}}', "no field 'kind'"),
    "no examples": ('{"task": "a", "kind": "classification"}', "no field 'examples'"),
    "unknown field": (
        f'{{"task": "a", "kind": "classification", "color": 1, {EXAMPLES}}}',
        "unknown field 'color': a task has task, kind, examples, primitives, split",
    ),
    "misspelt field": (
        '{"task": "a", "kind": "classification", "exmaples": []}',
        "unknown field 'exmaples' (did you mean 'examples'?): a task has",
    ),
    "unknown kind": (
        f'{{"task": "a", "kind": "regression", {EXAMPLES}}}',
        "kind: expected 'classification' or 'transduction', not 'regression'",
    ),
    "kind of wrong type": (f'{{"task": "a", "kind": [], {EXAMPLES}}}', "'transduction', not a list"),
    "mixed kinds": (
        '{"task": "a", "kind": "transduction", "examples": [{"x": [1], "y": [1]}]}',
        "kind 'transduction' here, but 'classification' on line 1: a file has tasks of one kind",
    ),
    "empty name": (
        f'{{"task": "", "kind": "classification", {EXAMPLES}}}',
        "task: expected a name, a string that",
    ),
    "name of wrong type": (f'{{"task": 5, "kind": "classification", {EXAMPLES}}}', "is not empty, not 5"),
    "repeated name": (GOOD, "task 'first' is on line 1 already: names must differ"),
    "split of wrong type": (
        f'{{"task": "a", "kind": "classification", "split": null, {EXAMPLES}}}',
        "split: expected a name, a string, not null",
    ),
    "unknown split": (
        f'{{"task": "a", "kind": "classification", "split": "dev", {EXAMPLES}}}',
        "unknown split 'dev': expected 'train', 'valid', 'test' or a name that begins with 'test'",
    ),
    "split on some lines": (
        f'{{"task": "a", "kind": "classification", "split": "train", {EXAMPLES}}}',
        "'split' is given here, but not on line 1: give it on every line or on none",
    ),
    "primitives on some lines": (
        f'{{"task": "a", "kind": "classification", "primitives": ["p"], {EXAMPLES}}}',
        "'primitives' is given here, but not on line 1",
    ),
    "primitives no list": (
        f'{{"task": "a", "kind": "classification", "primitives": "p", {EXAMPLES}}}',
        "primitives: expected a list of strings, not 'p'",
    ),
    "empty primitive": (
        f'{{"task": "a", "kind": "classification", "primitives": ["p", ""], {EXAMPLES}}}',
        "primitives[1]: expected a string that is not empty, not ''",
    ),
    "primitive of wrong type": (
        f'{{"task": "a", "kind": "classification", "primitives": [4], {EXAMPLES}}}',
        "primitives[0]: expected a string that is not empty, not 4",
    ),
}

BAD_EXAMPLES: dict[str, tuple[str, str, str]] = {
    "no list": ("classification", "{}", "examples: expected a list of examples, not an object"),
    "no example": (
        "classification",
        "[]",
        "examples: the list is empty, but a task has at least one example",
    ),
    "example no object": (
        "classification",
        '[{"x": [], "y": 0}, 3]',
        "examples[1]: expected an object with x and y, not 3",
    ),
    "no x": ("classification", '[{"y": 0}]', "examples[0]: no field 'x': an example has x, y"),
    "no y": ("classification", '[{"x": []}]', "examples[0]: no field 'y': an example has x, y"),
    "unknown field": (
        "classification",
        '[{"x": [], "y": 0, "z": 1}]',
        "examples[0]: unknown field 'z': an example has x, y",
    ),
    "x no list": (
        "classification",
        '[{"x": "abc", "y": 0}]',
        "examples[0].x: expected a list of tokens, not 'abc'",
    ),
    "float": (
        "classification",
        '[{"x": [1], "y": 0}, {"x": [1, "a", 1.5], "y": 0}]',
        "examples[1].x[2]: expected a token, an integer or a string, not 1.5",
    ),
    "true": (
        "classification",
        '[{"x": [1, true], "y": 0}]',
        "examples[0].x[1]: expected a token, an integer or",
    ),
    "null": ("classification", '[{"x": [null], "y": 0}]', "examples[0].x[0]: expected a token"),
    "list as token": ("classification", '[{"x": [[1]], "y": 0}]', "an integer or a string, not a list"),
    "list as label": (
        "classification",
        '[{"x": [], "y": [1]}]',
        "examples[0].y: expected a label, an integer or a string (the kind is classification), not a list",
    ),
    "true as label": (
        "classification",
        '[{"x": [], "y": 1}, {"x": [], "y": true}]',
        "examples[1].y: expected a label",
    ),
    "float as label": ("classification", '[{"x": [], "y": 1.0}]', "(the kind is classification), not 1.0"),
    "label as answer": (
        "transduction",
        '[{"x": [], "y": 4}]',
        "examples[0].y: expected a list of tokens (the kind is transduction), not 4",
    ),
    "false in answer": (
        "transduction",
        '[{"x": [0], "y": [0, false]}]',
        "examples[0].y[1]: expected a token",
    ),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_bad_line(case: str, tmp_path: Path) -> None:
    line, expected = BAD_LINES[case]
    file = tmp_path / "tasks.jsonl"
    file.write_bytes(f"{GOOD}\n\n".encode() + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    text = message(file)
    assert text.startswith(f"{file}:3: ")
    assert expected in text


@pytest.mark.parametrize("case", BAD_EXAMPLES)
def test_bad_example(case: str, tmp_path: Path) -> None:
    kind, examples, expected = BAD_EXAMPLES[case]
    file = save(tmp_path, ["", f'{{"task": "a", "kind": "{kind}", "examples": {examples}}}'])
    text = message(file)
    assert text.startswith(f"{file}:2: ")
    assert expected in text


def test_long_values_are_cut_short(tmp_path: Path) -> None:
    file = save(tmp_path, [record("a", examples=[{"x": "a" * 10_000, "y": 0}])])
    assert len(message(file)) < len(str(file)) + 150


def test_missing_split_after_lines_that_have_one(tmp_path: Path) -> None:
    file = save(tmp_path, [record("a", split="train"), record("b")])
    assert message(file).startswith(f"{file}:2: 'split' is given on line 1, but not here")


def test_long_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [json.dumps(record(name)) for name in "abc"]
    file = save(tmp_path, lines)
    monkeypatch.setattr(jsonl, "LINE_LIMIT", len(lines[0]))
    read_tasks(file)
    save(tmp_path, [*lines, lines[0] + " "])
    assert message(file).startswith(f"{file}:4: longer than the limit of {len(lines[0])} bytes")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_endless_line_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "LINE_LIMIT", 1000)
    assert message(Path("/dev/zero")).startswith("/dev/zero:1: longer than")


def test_one_long_example_among_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl_line, "PADDED_LIMIT", 8)
    file = save(tmp_path, [record("a", examples=[{"x": [1] * 3, "y": 0}, *[{"x": [], "y": 0}] * 2])])
    assert message(file).startswith(
        f"{file}:1: 3 examples with up to 3 tokens in x are too much for one task"
    )


PIECES = [
    GOOD.encode(),
    b"\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"x"',
    b":",
    b",",
    b"1",
    b"null",
    rb"\ud800",
    b"\xff",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=12).map(b"".join))
def test_whatever_the_bytes_there_is_a_message(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tasks.jsonl"
        file.write_bytes(content)
        assert message(file).startswith(f"{file}:")


# Files


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


# Splits

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


# Writing


def build(
    name: str,
    kind: str,
    examples: Sequence[tuple[list[Token], Any]],
    vocabulary: Vocabulary,
    primitives: Sequence[str] = (),
) -> Task:
    def sequences(rows: Iterable[Iterable[Token]]) -> Sequences:
        return Sequences.from_lists([vocabulary.encode(row) for row in rows], len(vocabulary))

    x, answers = sequences(x for x, _ in examples), [y for _, y in examples]
    if kind == "transduction":
        return Task(name, vocabulary, x, sequences(answers), tuple(primitives))
    labels: tuple[Label, ...] = tuple(sorted(set(answers), key=sort_key))
    y = Classes(np.array([labels.index(answer) for answer in answers]), labels)
    return Task(name, vocabulary, x, y, tuple(primitives))


TOKENS = st.integers() | st.text(max_size=3)


@st.composite
def task_sets(draw: Callable[[st.SearchStrategy[Any]], Any]) -> TaskSet:
    kind = draw(st.sampled_from(["classification", "transduction"]))
    # In any order, and perhaps with tokens that no example has.
    vocabulary = Vocabulary(draw(st.lists(TOKENS, min_size=1, max_size=8, unique=True)))
    rows = st.lists(st.sampled_from(vocabulary.tokens), max_size=4)
    examples = st.lists(st.tuples(rows, rows if kind == "transduction" else TOKENS), min_size=1, max_size=4)
    primitives = st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=3)
    with_primitives = draw(st.booleans())
    tests = draw(st.lists(st.text(max_size=2), min_size=1, max_size=3, unique=True))
    members = ["train", "valid", *(f"test{name}" for name in tests)]
    members += draw(st.lists(st.sampled_from(members), max_size=4))
    labels = draw(
        st.lists(st.text(min_size=1, max_size=4), min_size=len(members), max_size=len(members), unique=True)
    )
    by_split: dict[str, list[Task]] = {}
    for name, split in zip(labels, members, strict=True):
        task = build(name, kind, draw(examples), vocabulary, draw(primitives) if with_primitives else ())
        by_split.setdefault(split, []).append(task)
    return TaskSet({split: tuple(tasks) for split, tasks in by_split.items()}, vocabulary)


@settings(deadline=None)
@given(task_sets())
def test_round_trip(tasks: TaskSet) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tasks.jsonl"
        write_tasks(tasks, file)
        again = read_tasks(file)
        assert os.listdir(folder) == ["tasks.jsonl"]
        assert again.fingerprint == tasks.fingerprint
        assert list(again.splits) == list(tasks.splits)
        assert [list(task) for task in again] == [list(task) for task in tasks]
        first = file.read_bytes()
        again.write(file)
        assert file.read_bytes() == first


VOCABULARY = Vocabulary(["é", 7])


def small_set(**changes: Any) -> TaskSet:
    made = {name: build(name, "classification", [(["é", 7], "ü"), ([], 1)], VOCABULARY) for name in "abc"}
    by_split = {"train": (made["a"],), "valid": (made["b"],), "test": (made["c"],)}
    return TaskSet({**by_split, **changes}, VOCABULARY)


def test_written_text(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    composed = build("c", "classification", [(["é"], 1)], VOCABULARY)
    write_tasks(small_set(test=(composed,)), file)
    assert file.read_text(encoding="utf-8").splitlines() == [
        '{"task":"a","kind":"classification","split":"train","examples":[{"x":["é",7],"y":"ü"},{"x":[],"y":1}]}',
        '{"task":"b","kind":"classification","split":"valid","examples":[{"x":["é",7],"y":"ü"},{"x":[],"y":1}]}',
        '{"task":"c","kind":"classification","split":"test","examples":[{"x":["é"],"y":1}]}',
    ]


def test_writes_through_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "tasks.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(file)
    write_tasks(small_set(), link)
    assert link.is_symlink()
    assert len(read_tasks(file)) == 3


UNWRITABLE: dict[str, tuple[dict[str, Any], str]] = {
    "no examples": (
        {"test": (build("c", "classification", [], VOCABULARY),)},
        "cannot be written: task 'c' has no examples",
    ),
    "no name": ({"test": (build("", "classification", [([], 1)], VOCABULARY),)}, "task '' has no name"),
    "primitives of some": (
        {"test": (build("c", "classification", [([], 1)], VOCABULARY, ["p"]),)},
        "cannot be written: some tasks have primitives and others have none",
    ),
    "lone surrogate": (
        {"test": (build("\ud800", "classification", [([], 1)], VOCABULARY),)},
        r"a string of task '\ud800' has a lone surrogate",
    ),
}


@pytest.mark.parametrize("case", UNWRITABLE)
def test_what_could_not_be_read_back_is_not_written(case: str, tmp_path: Path) -> None:
    changes, expected = UNWRITABLE[case]
    file = tmp_path / "tasks.jsonl"
    with pytest.raises(TasksFileError, match=re.escape(expected)) as caught:
        write_tasks(small_set(**changes), file)
    assert str(caught.value).startswith(f"{file}: ")
    assert os.listdir(tmp_path) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text("old")
    monkeypatch.setattr(jsonl, "LINE_LIMIT", 100)
    with pytest.raises(TasksFileError, match="cannot be written: task 'a' takes more than 100 bytes"):
        write_tasks(small_set(), file)
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["tasks.jsonl"]


def test_no_name_has_a_zero_byte() -> None:
    for use in (lambda: read_tasks("a\0b"), lambda: write_tasks(small_set(), "a\0b")):
        with pytest.raises(UserError, match=r"^'a\\x00b': no name of a file has the character"):
            use()


def test_unwritable_places(tmp_path: Path) -> None:
    with pytest.raises(TasksFileError, match="cannot be written: it exists and is not a file"):
        write_tasks(small_set(), tmp_path)
    with pytest.raises(TasksFileError, match="cannot be written: No such file or directory"):
        write_tasks(small_set(), tmp_path / "none" / "tasks.jsonl")
    assert os.listdir(tmp_path) == []


# Documentation and shared data


@pytest.mark.parametrize("module", [jsonl_line, splits])
def test_docstrings(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted
    assert not results.failed


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
