"""Make tasks from rows with one example each, from any source."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_args

from tam.errors import UserError, shown
from tam.tasks.jsonl_schema import FormatError, Ids, Line, check_split, located, parse_json, task_of
from tam.tasks.task import Kind, Label
from tam.tasks.text import TextSplitter, integers_of_words, is_integer, text_splitter
from tam.tasks.vocabulary import Token, listed, plain

_ROWS_TO_JUDGE = 4


class Row(NamedTuple):
    """One example; `where` it came from is the beginning of errors about it."""

    where: str
    task: Any
    x: Any
    y: Any
    split: str | None = None
    role: str | None = None
    """support or query, if the task has a fixed support."""
    kind: Any = None
    primitives: Any = ()
    written: bool = False
    """Whether all values are text, integers included, as in CSV."""


@dataclass
class _Group:
    """The rows of one task."""

    first: Row
    x: list[list[Token]] = field(default_factory=list)
    y: list[Any] = field(default_factory=list)
    roles: list[str | None] = field(default_factory=list)


def tasks_in(
    rows: Iterable[Row], ids: Ids, *, text: str | None = None, kind: Kind | None = None
) -> Iterator[Line]:
    """Yield the tasks of these rows, in order of first appearance.

    Args:
        rows: One example each, in any order.
        ids: Ids of tokens; new tokens are added.
        text: How to split strings into tokens, see `text_splitter`. By default a JSON list is parsed, and any
            other string is split into words.
        kind: The kind of the tasks; None: transduction if the first answer is a list, else classification.
    """
    if kind is not None and kind not in get_args(Kind):
        raise UserError(f"kind must be 'classification' or 'transduction': got {shown(kind)}")
    groups, actual = _grouped(rows, text, kind)
    written = any(group.first.written for group in groups.values())
    inputs = _with_integers([group.x for group in groups.values()], text)
    answers: list[list[Any]] = [group.y for group in groups.values()]
    if actual == "transduction":
        answers = _with_integers(answers, text)
    elif written and all(is_integer(label) for labels in answers for label in labels):
        answers = [[int(label) for label in labels] for labels in answers]
    if kind is None and actual == "classification":
        _check_labels(groups.values())
    for (name, group), xs, ys in zip(groups.items(), inputs, answers, strict=True):
        value: dict[str, Any] = {"task": name, "kind": actual}
        for x, y, role in zip(xs, ys, group.roles, strict=True):
            value.setdefault(role or "examples", []).append({"x": x, "y": y})
        if group.first.split is not None:
            value["split"] = group.first.split
        primitives = listed(group.first.primitives)
        value["primitives"] = group.first.primitives if primitives is None else primitives
        with located(group.first.where):
            yield task_of(value, group.first.where, ids)


def _grouped(rows: Iterable[Row], text: str | None, kind: Kind | None) -> tuple[dict[str, _Group], Kind]:
    """Group the rows by task, as tokens and labels, and find out the kind of the tasks."""
    split = _json_or_words if text is None else text_splitter(text)
    groups: dict[str, _Group] = {}
    for row in rows:
        with located(row.where):
            kind = kind or row.kind or _kind_of(row.y, text)
            if row.kind not in (None, kind):
                raise FormatError(f"all tasks must be of one kind, which is {kind}: got {_given(row.kind)}")
            name = _name(row.task)
            group = groups.setdefault(name, _Group(row))
            if row.split is not None:
                check_split(row.split)
            if row.split != group.first.split:
                splits = f"{shown(row.split)} here and {shown(group.first.split)} at {group.first.where}"
                raise FormatError(f"a split is a set of whole tasks: task {shown(name)} is in {splits}")
            if row.role not in (None, "support", "query"):
                raise FormatError(f"role must be support or query: got {_given(row.role)}")
            group.roles.append(row.role)
            group.x.append(_sequence(row.x, "x", split))
            answer = None if row.written and row.y == "" and kind == "classification" else row.y
            group.y.append(_sequence(answer, "y", split) if kind == "transduction" else _label(answer))
    return groups, kind or "classification"


def _with_integers(tasks: list[list[list[Token]]], text: str | None) -> list[list[list[Token]]]:
    """Convert the sequences of all tasks to integers if every word is one, and `text` is None."""
    if text is not None:
        return tasks
    flat = iter(integers_of_words([row for rows in tasks for row in rows]))
    return [[next(flat) for _ in rows] for rows in tasks]


def _kind_of(answer: Any, text: str | None) -> Kind:
    is_list = listed(answer) is not None
    if isinstance(answer, str) and text is None:
        is_list = _json_list(answer) is not None
    return "transduction" if is_list else "classification"


def _json_list(value: str) -> list[Any] | None:
    """Parse a JSON list; None if the string is not one."""
    if not value.lstrip().startswith("["):
        return None
    try:
        parsed = parse_json(value)
    except FormatError:
        return None
    return parsed if isinstance(parsed, list) else None


def _json_or_words(value: str) -> list[Token]:
    parsed = _json_list(value)
    return list[Token](value.split()) if parsed is None else parsed


def _name(value: Any) -> str:
    name = plain(value)
    if name is None or name == "":
        raise FormatError(f"task must be a name: got {_given(value)}")
    return str(name)


def _label(value: Any) -> Label:
    label = plain(value)
    if label is None:
        raise FormatError(f"y must be a label, an integer or a string: got {_given(value)}")
    return label


def _sequence(value: Any, what: str, split: TextSplitter) -> list[Token]:
    items = split(value) if isinstance(value, str) else listed(value)
    if items is None:
        raise FormatError(f"{what} must be text or a list of tokens: got {_given(value)}")
    if {int, str}.issuperset(map(type, items)):
        return items
    tokens = [plain(item) for item in items]
    for place, token in enumerate(tokens):
        if token is None:
            raise FormatError(f"{what}[{place}] must be an integer or a string: got {_given(items[place])}")
    return [token for token in tokens if token is not None]


def _given(value: Any) -> str:
    """Format a value for a message; an empty cell of a table is nothing."""
    is_missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "nothing" if is_missing else shown(value)


def _check_labels(groups: Iterable[_Group]) -> None:
    """Raise an error if labels look like sequences: in most tasks with enough examples, all differ."""
    judged = [group for group in groups if len(group.y) >= _ROWS_TO_JUDGE]
    different = [group for group in judged if len(set(group.y)) == len(group.y)]
    if judged and 2 * len(different) > len(judged):
        first = different[0]
        with located(first.first.where):
            raise FormatError(
                f"the {len(first.y)} answers of task {shown(str(first.first.task))} all differ: give kind "
                "'transduction' if they are sequences, or 'classification' if they are labels"
            )
