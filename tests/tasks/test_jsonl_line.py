"""A bad line of a task file is an error that says where and what."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tam.tasks import jsonl, jsonl_line
from tam.tasks.jsonl import read_tasks
from tests.tasks.jsonl_files import message, record, save

GOOD = '{"task": "first", "kind": "classification", "examples": [{"x": [1, "a"], "y": 0}]}'
EXAMPLES = '"examples": [{"x": [1], "y": 0}]'

BAD_LINES: dict[str, tuple[str | bytes, str]] = {
    "not UTF-8": (b'{"task": "\xff"}', "not UTF-8: byte 0xff at place 11"),
    "not JSON": ('{"task": "a",', "not JSON: Expecting property name enclosed in double quotes at column 14"),
    "control character": ('{"task": "a\x07b"}', "not JSON: Invalid control character at column 12"),
    "endless string": ('{"task": "a', "not JSON: Unterminated string starting at column 10"),
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
