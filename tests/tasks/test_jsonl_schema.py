"""A bad line of a task file, or a bad splits file, is an error that says where and what."""

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tasks.jsonl_files import message, record, save

GOOD = '{"task": "first", "kind": "classification", "examples": [{"x": [1, "a"], "y": 0}]}'


def check(text: str, place: str, pattern: str) -> None:
    assert text.startswith(place)
    assert re.search(pattern, text), text


BAD_TEXTS: dict[str, tuple[str | bytes, str]] = {
    "not UTF-8": (b'{"task": "\xff"}', "not UTF-8: byte 0xff at place 11"),
    "not JSON": ('{"task": "a",', r"not JSON: .*column 14"),
    "control character": ('{"task": "a\x07b"}', "not JSON"),
    "NaN": ('{"task": NaN}', "NaN"),
    "too many digits": (f'{{"task": {"1" * 5000}}}', "too many digits"),
    "too deep": ("[" * 200_000, "nested too deeply"),
    "lone surrogate": (r'{"task": "a\uD800"}', "lone surrogate"),
    "repeated field": ('{"task": "a", "kind": "x", "task": "b"}', "field 'task' twice"),
    "a number": ("7", "must be an object .*got 7"),
    "repeated name": (GOOD, "'first' is also at .*:1$"),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_bad_text(case: str, tmp_path: Path) -> None:
    line, expected = BAD_TEXTS[case]
    file = tmp_path / "tasks.jsonl"
    file.write_bytes(f"{GOOD}\n\n".encode() + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    check(message(file), f"{file}:3: ", expected)


BAD_FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown field": ({"color": 1}, "'color'.*task, kind, examples, primitives, split"),
    "unknown kind": ({"kind": "regression"}, "kind must be .*'regression'"),
    "mixed kinds": (
        {"kind": "transduction", "examples": [{"x": [1], "y": [1]}]},
        "one kind.*:1 classification",
    ),
    "name of wrong type": ({"task": 5}, "task must be a name: got 5"),
    "unknown split": ({"split": "dev"}, "split must be .*'dev'"),
    "split on some lines": ({"split": "train"}, "split must be in every task or in none"),
    "primitives on some lines": ({"primitives": ["p"]}, "primitives must be in every task or in none"),
    "primitives no list": ({"primitives": "p"}, "primitives must be a list"),
    "no example": ({"examples": []}, "examples must be a list of one or more"),
    "example no object": ({"examples": [{"x": [], "y": 0}, 3]}, r"examples\[1\] must be an object .*got 3"),
    "no x": ({"examples": [{"y": 0}]}, r"no field 'x': examples\[0\]"),
    "unknown field of an example": ({"examples": [{"x": [], "y": 0, "z": 1}]}, "unknown field 'z'"),
    "x no list": ({"examples": [{"x": "abc", "y": 0}]}, r"examples\[0\]\.x must be a list.*'abc'"),
    "float": ({"examples": [{"x": [1], "y": 0}, {"x": [1, 1.5], "y": 0}]}, r"\[1\]\.x\[1\] must .*1\.5"),
    "list as label": (
        {"examples": [{"x": [], "y": [1]}]},
        r"examples\[0\]\.y must be an integer or a string",
    ),
    "label as answer": (
        {"kind": "transduction", "examples": [{"x": [], "y": 4}]},
        r"\[0\]\.y must be a list",
    ),
}


@pytest.mark.parametrize("case", BAD_FIELDS)
def test_bad_field(case: str, tmp_path: Path) -> None:
    fields, expected = BAD_FIELDS[case]
    file = save(tmp_path, [GOOD, record("a", **fields)])
    check(message(file), f"{file}:2: ", expected)


NASTY = "\x1b[31mred\x07\r\n\u202e" + "x" * 10_000


@pytest.mark.parametrize(
    "lines",
    [
        [record(NASTY)] * 2,
        [record("a", task=10**4000)],
        [record("a", **{NASTY: 1})],
        [record("a", examples=[{"x": NASTY, "y": 0}])],
        [f'{{"{"x" * 9999}\\u001b": 1, "{"x" * 9999}\\u001b": 1}}'],
    ],
)
def test_messages_are_printable_and_short(lines: list[Any], tmp_path: Path) -> None:
    """As `message` checks: a name must neither drive the terminal nor fill it."""
    message(save(tmp_path, lines))


PIECES = [GOOD.encode(), b"\n", *(b"{ } [ ] : , 1 null".split()), b'"x"', rb"\ud800", b"\xff"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=12).map(b"".join))
def test_whatever_the_bytes_there_is_a_message(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tasks.jsonl"
        file.write_bytes(content)
        assert message(file).startswith(f"{file}:")


BAD_SPLITS: dict[str, tuple[str, str]] = {
    "not JSON": ('{\n"train": ["a"]\n"valid": []}', "not JSON: .*line 3, column 1"),
    "few folds": ('[["a", "b"], ["c", "d"]]', "at least 3 folds"),
    "folds, and none is asked": ('[["a", "b"], ["c"], ["d"]]', "there are 3 folds: say which"),
    "names no list": ('{"train": "a"}', "'train' must be a list"),
    "no task": ('{"train": ["a", "z", "d"], "valid": ["b"], "test": ["c"]}', "no task 'z'"),
    "in two splits": ('{"train": ["a"], "valid": ["b"], "test": ["c", "a"]}', "'a' is in several"),
    "in no split": ('{"train": ["a"], "valid": ["b"], "test": ["c"]}', "'d' is in none"),
    "no train": ('{"valid": ["a", "b"], "test": ["c", "d"]}', "no train tasks"),
    "repeated split": ('{"train": ["a"], "train": ["b"]}', "'train' twice"),
    "escape sequence": (r'{"train": ["\u001b[31m"]}', r"\\x1b"),
}


@pytest.mark.parametrize("case", BAD_SPLITS)
def test_bad_splits_file(case: str, tmp_path: Path) -> None:
    content, expected = BAD_SPLITS[case]
    file = save(tmp_path, [record(name) for name in "abcd"])
    splits_file = tmp_path / "my-splits.json"
    splits_file.write_text(content)
    check(message(file, splits=splits_file), f"{splits_file}: ", expected)
