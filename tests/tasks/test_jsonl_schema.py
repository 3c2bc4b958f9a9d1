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


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"task": "\xff"}', "not UTF-8: byte 0xff at place 11"),
        (b'{"task": "a",', "not JSON: .*column 14"),
        (b'{"task": "a\x07b"}', "not JSON"),
        (b'{"task": NaN}', "NaN"),
        pytest.param(b'{"task": %s}' % (b"1" * 5000), "too many digits", id="digits"),
        pytest.param(b"[" * 200_000, "nested too deeply", id="deep"),
        (rb'{"task": "a\uD800"}', "lone surrogate"),
        (b'{"task": "a", "kind": "x", "task": "b"}', "field 'task' twice"),
        (b"7", "must be an object .*got 7"),
        (GOOD.encode(), "'first' is also at .*:1$"),
    ],
)
def test_bad_text(line: bytes, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_bytes(f"{GOOD}\n\n".encode() + line + b"\n")
    assert re.match(f"{file}:3: .*{expected}", message(file))


X = {"x": [], "y": 0}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"color": 1}, "'color'"),
        ({"kind": "regression"}, "kind must be .*'regression'"),
        ({"kind": "transduction", "examples": [{"x": [1], "y": [1]}]}, "one kind.*:1 classification"),
        ({"task": 5}, "task must be a name: got 5"),
        ({"split": "dev"}, "split must be .*'dev'"),
        ({"split": "train"}, "split must be in every task"),
        ({"primitives": ["p"]}, "primitives must be in every task"),
        ({"primitives": "p"}, "primitives must be a list"),
        ({"examples": []}, "examples must be a list"),
        ({"examples": [X, 3]}, r"examples\[1\] must be an object .*got 3"),
        ({"examples": [{"y": 0}]}, r"no field 'x': examples\[0\]"),
        ({"examples": [{**X, "z": 1}]}, "unknown field 'z'"),
        ({"examples": [{"x": "abc", "y": 0}]}, r"examples\[0\]\.x must be a list.*'abc'"),
        ({"examples": [X, {"x": [1, 1.5], "y": 0}]}, r"\[1\]\.x\[1\] must .*1\.5"),
        ({"examples": [{"x": [], "y": [1]}]}, r"examples\[0\]\.y must be"),
        ({"examples": [{"x": [], "y": 1.5}]}, r"examples\[0\]\.y must be .*1\.5"),
        ({"kind": "transduction", "examples": [X]}, r"\[0\]\.y must be a list"),
        ({"support": [X], "examples": None}, "no field 'query'"),
        ({"support": [X], "query": []}, "unknown field 'examples'"),
        ({"support": [X], "query": [{"x": [1.5], "y": 0}], "examples": None}, r"query\[0\]\.x\[0\] .*1\.5"),
    ],
)
def test_bad_field(fields: dict[str, Any], expected: str, tmp_path: Path) -> None:
    line = {name: value for name, value in record("a", **fields).items() if value is not None}
    file = save(tmp_path, [GOOD, line])
    assert re.match(f"{file}:2: .*{expected}", message(file)), message(file)


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


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{\n"train": ["a"]\n"valid": []}', "not JSON: .*line 3, column 1"),
        ('[["a", "b"], ["c", "d"]]', "at least 3 folds"),
        ('[["a", "b"], ["c"], ["d"]]', "there are 3 folds: say which"),
        ('{"train": "a"}', "'train' must be a list"),
        ('{"train": ["a", "z", "d"], "valid": ["b"], "test": ["c"]}', "no task 'z'"),
        ('{"train": ["a"], "valid": ["b"], "test": ["c", "a"]}', "'a' is in several"),
        ('{"train": ["a"], "valid": ["b"], "test": ["c"]}', "'d' is in none"),
        ('{"valid": ["a", "b"], "test": ["c", "d"]}', "no train tasks"),
        (r'{"train": ["\u001b[31m"]}', r"\\x1b"),
    ],
)
def test_bad_splits_file(content: str, expected: str, tmp_path: Path) -> None:
    file, splits_file = save(tmp_path, [record(name) for name in "abcd"]), tmp_path / "my-splits.json"
    splits_file.write_text(content)
    assert re.match(f"{splits_file}: .*{expected}", message(file, splits=splits_file))
