"""The format of tasks, examples and names of splits, in files and in memory."""

import codecs
import json
import re
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from tam.errors import UserError, shown
from tam.tasks.task import Classes, Integers, Kind, Label, compact
from tam.tasks.text import TextSplitter
from tam.tasks.vocabulary import Token, plain_label, sort_key

# In text decoded from UTF-8, only an escape can give a lone surrogate.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


LINE_LIMIT = 64 * 2**20  # bytes; a longer line is rejected before it fills the memory

TABLES = (".csv", ".tsv", ".parquet")
"""The file name extensions of tables, which are read but not written."""


class FormatError(Exception):
    """A mistake in the content of a file; `located` adds its place."""


def check_not_a_table(path: str | Path) -> None:
    """Raise an error if JSONL would be written to a file that is named as a table."""
    if (extension := Path(path).suffix.lower()) in TABLES:
        raise UserError(f"{path}: the file will be JSONL: its name must not end in {extension}")


class TasksFileError(UserError):
    """A file of tasks or splits that cannot be used; the message begins with `FILE:LINE: ` or `FILE: `."""


@contextmanager
def located(place: str) -> Generator[None]:
    """Prefix errors in reading a file with their place."""
    try:
        yield
    except FormatError as error:
        raise TasksFileError(f"{place}: {error}") from None
    except OSError as error:
        raise TasksFileError(f"{place}: cannot be read: {error.strerror or error}") from None


class Ids(dict[Token, int]):
    """Provisional ids of tokens, in order of appearance; final ids need all tokens."""

    text: str | None = None
    """How text was split, as in `text_splitter`; None if all inputs were lists of tokens."""

    def __missing__(self, token: Token) -> int:
        self[token] = len(self)
        return self[token]


class Rows(NamedTuple):
    """Sequences of provisional ids, concatenated."""

    flat: Integers
    lengths: Integers


class Line(NamedTuple):
    """A task as read from a line of a file, the rows of a table, or an item of a list."""

    where: str
    """Its file and line, or its place in memory; errors about it begin with this."""
    name: str
    kind: Kind
    x: Rows
    y: Rows | Classes
    primitives: tuple[str, ...]
    split: str | None
    support: int | None

    @property
    def rows(self) -> list[Rows]:
        """X and, in transduction, y."""
        return [self.x] if isinstance(self.y, Classes) else [self.x, self.y]


def decode_line(raw: bytes, *, at_start: bool) -> str:
    """Decode a line or a whole file, and strip trailing white space."""
    if len(raw.removesuffix(b"\n")) > LINE_LIMIT:
        raise FormatError(f"longer than the limit of {LINE_LIMIT:,} bytes: split it into smaller tasks")
    if at_start:
        raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode().rstrip(" \t\r\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8: byte {raw[error.start]:#04x} at place {error.start + 1}") from None


def parse_json(text: str) -> Any:
    """Parse JSON more strictly than `json.loads`: no NaN, no repeated fields, no lone surrogates.

    >>> parse_json('{"train": ["a"]}')
    {'train': ['a']}
    """
    try:
        value = _DECODER.decode(text)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise FormatError(f"not JSON: {error.msg} ({line}column {error.colno})") from None
    except UnicodeEncodeError:
        raise FormatError("a string has a lone surrogate, which is half a character") from None
    except RecursionError:
        raise FormatError("lists or objects are nested too deeply") from None
    except ValueError:  # Python's limit on the digits of an integer
        raise FormatError("an integer has too many digits: write it as a string") from None


def task_of(value: Any, where: str, ids: Ids, text: TextSplitter | None = None) -> Line:
    """Parse a task from an object; new tokens are added to `ids`, and `text` splits strings.

    >>> value = {"task": "a", "kind": "classification", "examples": [{"x": [5, 5, 2], "y": "odd"}]}
    >>> task_of(value, "line 1", Ids()).x.flat.tolist()
    [0, 0, 1]
    """
    fixed = isinstance(value, dict) and ("support" in value or "query" in value)
    parts = ("support", "query") if fixed else ("examples",)
    _check_object(value, "a task", ("task", "kind", *parts), ("primitives", "split"))
    name, kind, split = value["task"], value["kind"], value.get("split")
    if not isinstance(name, str) or not name:
        raise FormatError(f"task must be a name: got {shown(name)}")
    if kind not in get_args(Kind):
        raise FormatError(f"kind must be 'classification' or 'transduction': got {shown(kind)}")
    if "split" in value:
        check_split(split)
    primitives = value.get("primitives", [])
    if not isinstance(primitives, list) or not all(isinstance(part, str) and part for part in primitives):
        raise FormatError("primitives must be a list of non-empty strings")
    examples = [one for part in parts for one in _examples(value[part], part)]
    places = [f"{part}[{index}]" for part in parts for index in range(len(value[part]))]
    x = _rows(examples, "x", places, ids, text)
    y = _classes(examples, places) if kind == "classification" else _rows(examples, "y", places, ids, text)
    support = len(value["support"]) if fixed else None
    return Line(where, name, kind, x, y, tuple(primitives), split, support)


def parse_example(text: str) -> tuple[Any, Any]:
    """Parse the input and the answer of an example on a line of its own."""
    value = parse_json(text)
    _check_object(value, "an example", ("x", "y"))
    return value["x"], value["y"]


def check_split(split: object) -> None:
    """Raise unless this is the name of a split."""
    if not isinstance(split, str) or not (split in ("train", "valid") or split.startswith("test")):
        raise FormatError(f"split must be train, valid, test or begin with test: got {shown(split)}")


def _check_object(value: Any, what: str, required: Sequence[str], optional: Sequence[str] = ()) -> None:
    fields = (*required, *optional)
    if not isinstance(value, dict):
        raise FormatError(f"{what} must be an object with {', '.join(fields)}: got {shown(value)}")
    for field in value:
        if field not in fields:
            raise FormatError(f"unknown field {shown(field)}: {what} has {', '.join(fields)}")
    for field in required:
        if field not in value:
            raise FormatError(f"no field {field!r}: {what} must have {', '.join(required)}")


def _examples(value: object, part: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value:
        raise FormatError(f"{part} must be a list of one or more examples: got {shown(value)}")
    for place, example in enumerate(value):
        if not isinstance(example, dict) or example.keys() != {"x", "y"}:
            _check_object(example, f"{part}[{place}]", ("x", "y"))
    return value


def _rows(
    examples: list[dict[str, Any]], part: str, places: list[str], ids: Ids, text: TextSplitter | None
) -> Rows:
    """Convert the inputs or the answers to ids; errors name the place of an example."""
    rows: list[list[Token]] = []
    for place, example in zip(places, examples, strict=True):
        row = example[part]
        if isinstance(row, str) and text is not None:
            row = text(row)
        if not isinstance(row, list):
            hint = (
                "; to split text, give text (--text words or --text characters)"
                if isinstance(row, str)
                else ""
            )
            raise FormatError(f"{place}.{part} must be a list of tokens: got {shown(row)}{hint}")
        if not {int, str}.issuperset(map(type, row)):
            for index, token in enumerate(row):
                _check_token(token, f"{place}.{part}[{index}]")
        rows.append(row)
    flat = np.array([ids[token] for row in rows for token in row], dtype=np.int64)
    return Rows(compact(flat, len(ids)), np.array([len(row) for row in rows], dtype=np.int64))


def _classes(examples: list[dict[str, Any]], places: list[str]) -> Classes:
    given: list[Label] = []
    for place, example in zip(places, examples, strict=True):
        if (label := plain_label(example["y"])) is None:
            raise FormatError(f"{place}.y must be an integer or a string: got {shown(example['y'])}")
        given.append(label)
    labels = tuple(sorted(set(given), key=sort_key))
    class_of = {label: index for index, label in enumerate(labels)}
    return Classes(compact(np.array([class_of[label] for label in given]), len(labels) - 1), labels)


def _check_token(value: object, place: str) -> None:
    if type(value) not in (int, str):
        raise FormatError(f"{place} must be an integer or a string: got {shown(value)}")


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise FormatError(f"an object has the field {shown(name)} twice")
    return fields


def _refuse_constant(name: str) -> object:
    raise FormatError(f"not JSON: {name} is not a JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=_refuse_repeats, parse_constant=_refuse_constant)
