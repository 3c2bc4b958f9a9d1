"""One line of a tasks file: checked JSON, then a task whose tokens have ids of their own."""

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import chain, pairwise
from typing import Any, NamedTuple, get_args

import numpy as np

from tam.tasks.task import Classes, Integers, Kind, compact
from tam.tasks.vocabulary import Token, sort_key

PADDED_LIMIT = 2**30  # number of examples times the longest of them: what a task's arrays hold

_REQUIRED = ("task", "kind", "examples")
_FIELDS = (*_REQUIRED, "primitives", "split")
# Only an escape brings a lone surrogate into text that was decoded from UTF-8.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_INT_OR_STR = "an integer or a string"


class FormatError(Exception):
    """What is wrong, raised where the file is not known; `line` counts within the text given."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class Ids(dict[Token, int]):
    """Ids of tokens in the order they are met: the vocabulary's own are only known at the end."""

    def __missing__(self, token: Token) -> int:
        self[token] = len(self)
        return self[token]


class Rows(NamedTuple):
    """Sequences of such ids, one after another."""

    flat: Integers
    lengths: Integers


class Line(NamedTuple):
    """A task as its line gives it."""

    number: int
    name: str
    kind: Kind
    x: Rows
    y: Rows | Classes
    primitives: tuple[str, ...]
    split: str | None


def parse_json(text: str) -> object:
    """The value of a JSON text, more strictly than `json.loads`: no NaN, no repeated fields, only Unicode.

    >>> parse_json('{"train": ["a"]}')
    {'train': ['a']}
    """
    try:
        value = _DECODER.decode(text)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        problem = error.msg.removesuffix(" at")
        raise FormatError(f"not JSON: {problem} at column {error.colno}", error.lineno) from None
    except UnicodeEncodeError as error:
        surrogate = f"\\u{ord(error.object[error.start]):04x}"
        raise FormatError(f"a string has the lone surrogate {surrogate}, which is half a character") from None
    except RecursionError:
        raise FormatError("lists or objects are nested too deeply") from None
    except ValueError:  # what is left is Python's limit on the digits of an integer
        raise FormatError("an integer has too many digits: write it as a string") from None


def parse_line(text: str, number: int, ids: Ids) -> Line:
    """The task on the line with this number; new tokens are added to `ids`.

    >>> text = '{"task": "a", "kind": "classification", "examples": [{"x": [5, 5, 2], "y": "odd"}]}'
    >>> parse_line(text, 1, Ids()).x.flat.tolist()
    [0, 0, 1]
    """
    value = parse_json(text)
    if not isinstance(value, dict):
        raise FormatError(f"expected an object, one task a line, not {_shown(value)}")
    _check_fields(value, _REQUIRED, _FIELDS, "a task")
    name, kind = value["task"], value["kind"]
    if not isinstance(name, str) or not name:
        raise FormatError(f"task: expected a name, a string that is not empty, not {_shown(name)}")
    if kind not in get_args(Kind):
        raise FormatError(f"kind: expected 'classification' or 'transduction', not {_shown(kind)}")
    if not isinstance(split := value.get("split", ""), str):
        raise FormatError(f"split: expected a name, a string, not {_shown(split)}")
    inputs, answers = _examples(value["examples"])
    x = _rows(inputs, "x", ids)
    y = _rows(answers, "y", ids) if kind == "transduction" else _classes(answers)
    primitives = _primitives(value.get("primitives", []))
    return Line(number, name, kind, x, y, primitives, split if "split" in value else None)


def parse_example(text: str) -> tuple[Any, Any]:
    """The input and the answer of one example on a line of its own."""
    value = parse_json(text)
    if not isinstance(value, dict):
        raise FormatError(f"expected an object with x and y, one example a line, not {_shown(value)}")
    _check_fields(value, ("x", "y"), ("x", "y"), "an example")
    return value["x"], value["y"]


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = sorted(name for name, _ in pairs)
        repeated = next(name for name, following in pairwise(names) if name == following)
        raise FormatError(f"an object has the field {repeated!r} twice")
    return fields


def _refuse_constant(name: str) -> object:
    raise FormatError(f"not JSON: {name} is not a JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=_unrepeated, parse_constant=_refuse_constant)


def _check_fields(given: dict[str, Any], required: Sequence[str], known: Sequence[str], what: str) -> None:
    for field in given:
        if field not in known:
            close = get_close_matches(field, known, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise FormatError(f"unknown field {field!r}{hint}: {what} has {', '.join(known)}")
    for field in required:
        if field not in given:
            raise FormatError(f"no field {field!r}: {what} has {', '.join(required)}")


def _examples(value: object) -> tuple[list[Any], list[Any]]:
    if not isinstance(value, list):
        raise FormatError(f"examples: expected a list of examples, not {_shown(value)}")
    if not value:
        raise FormatError("examples: the list is empty, but a task has at least one example")
    for place, example in enumerate(value):
        if not isinstance(example, dict):
            raise FormatError(f"examples[{place}]: expected an object with x and y, not {_shown(example)}")
        if example.keys() != {"x", "y"}:
            try:
                _check_fields(example, ("x", "y"), ("x", "y"), "an example")
            except FormatError as error:
                raise FormatError(f"examples[{place}]: {error}") from None
    return [example["x"] for example in value], [example["y"] for example in value]


def _rows(rows: list[Any], field: str, ids: Ids) -> Rows:
    for place, row in enumerate(rows):
        if not isinstance(row, list):
            why = " (the kind is transduction)" if field == "y" else ""
            raise FormatError(f"examples[{place}].{field}: expected a list of tokens{why}, not {_shown(row)}")
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    if len(rows) * int(lengths.max()) > PADDED_LIMIT:
        raise FormatError(
            f"{len(rows)} examples with up to {lengths.max()} tokens in {field} are too much for one task: "
            "leave out the longest, or make several tasks of it"
        )
    tokens = list(chain.from_iterable(rows))
    if not set(map(type, tokens)) <= {int, str}:
        raise _wrong_token(rows, field)
    flat = np.fromiter(map(ids.__getitem__, tokens), dtype=np.int64, count=len(tokens))
    return Rows(compact(flat, len(ids)), lengths)


def _wrong_token(rows: list[list[Any]], field: str) -> FormatError:
    place, index, token = next(
        (place, index, token)
        for place, row in enumerate(rows)
        for index, token in enumerate(row)
        if type(token) not in (int, str)
    )
    return FormatError(
        f"examples[{place}].{field}[{index}]: expected a token, {_INT_OR_STR}, not {_shown(token)}"
    )


def _classes(answers: list[Any]) -> Classes:
    for place, label in enumerate(answers):
        if type(label) not in (int, str):
            expected = f"expected a label, {_INT_OR_STR} (the kind is classification)"
            raise FormatError(f"examples[{place}].y: {expected}, not {_shown(label)}")
    labels = tuple(sorted(set(answers), key=sort_key))
    class_of = {label: index for index, label in enumerate(labels)}
    ids = np.fromiter(map(class_of.__getitem__, answers), dtype=np.int64, count=len(answers))
    return Classes(compact(ids, len(labels) - 1), labels)


def _primitives(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise FormatError(f"primitives: expected a list of strings, not {_shown(value)}")
    for place, primitive in enumerate(value):
        if not isinstance(primitive, str) or not primitive:
            raise FormatError(
                f"primitives[{place}]: expected a string that is not empty, not {_shown(primitive)}"
            )
    return tuple(value)


def _shown(value: object) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
