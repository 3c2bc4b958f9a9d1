"""Make tasks from rows with one example each, from any source."""

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_args

from tam.errors import UserError, shown
from tam.tasks.jsonl_schema import FormatError, Ids, Line, check_split, located, parse_json, task_of
from tam.tasks.task import Kind, Label
from tam.tasks.text import text_splitter
from tam.tasks.vocabulary import Token, is_integer, listed, plain_label, plain_token

_ROWS_TO_JUDGE = 4
_GIVE_KIND = (
    "say which they are: kind (--kind on the command line) is transduction for sequences, and classification "
    "for labels"
)


class TableRow(NamedTuple):
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


def tasks_in(
    rows: Iterable[TableRow], ids: Ids, *, text: str | None = None, kind: Kind | None = None
) -> Iterator[Line]:
    """Yield the tasks of these rows, in order of first appearance.

    Args:
        rows: One example each, in any order.
        ids: Ids of tokens; new tokens are added.
        text: How to split strings into tokens, see `text_splitter`. By default a JSON list is parsed, and any
            other string is split into words, which are integers if all tokens are.
        kind: The kind of the tasks; None: transduction if all answers are lists, classification if none is.
    """
    if kind is not None and kind not in get_args(Kind):
        raise UserError(f"kind must be 'classification' or 'transduction': got {shown(kind)}")
    groups: dict[str, list[TableRow]] = {}
    actual = kind
    for row in rows:
        with located(row.where):
            found = row.kind or kind or _kind_of(row.y, text)
            actual = actual or found
            if row.kind not in (None, actual):
                raise FormatError(f"all tasks must be of one kind, which is {actual}: got {_given(row.kind)}")
            if found != actual and row.y != "":
                raise FormatError(
                    f"answers must all be labels or all be lists: got {_given(row.y)}, and "
                    f"{'a list' if actual == 'transduction' else 'labels'} before; {_GIVE_KIND}"
                )
            _add(row, groups)
    everything = [row for group in groups.values() for row in group]
    x = iter(_sequences(everything, "x", text, ids))
    y = iter(_sequences(everything, "y", text, ids) if actual == "transduction" else _labels(everything))
    if kind is None and actual == "classification":
        _check_labels(groups)
    for name, (first, *others) in groups.items():
        primitives = listed(first.primitives)
        value: dict[str, Any] = {"task": name, "kind": actual}
        value["primitives"] = first.primitives if primitives is None else primitives
        if first.split is not None:
            value["split"] = first.split
        for row in (first, *others):
            value.setdefault(row.role or "examples", []).append({"x": next(x), "y": next(y)})
        with located(first.where):
            yield task_of(value, first.where, ids)


def _add(row: TableRow, groups: dict[str, list[TableRow]]) -> None:
    """Add a row to those of its task."""
    name = plain_token(row.task)
    if name is None or name == "":
        raise FormatError(f"task must be a name: got {_given(row.task)}")
    group = groups.setdefault(str(name), [])
    group.append(row)
    if row.split is not None:
        check_split(row.split)
    if row.split != group[0].split:
        splits = f"{shown(row.split)} here and {shown(group[0].split)} at {group[0].where}"
        raise FormatError(f"a split is a set of whole tasks: task {shown(name)} is in {splits}")
    if row.role not in (None, "support", "query"):
        raise FormatError(f"role must be support or query: got {_given(row.role)}")


def _kind_of(answer: Any, text: str | None) -> Kind:
    parsed = _list_in(answer) if text is None else answer
    return "classification" if listed(parsed) is None else "transduction"


def _list_in(value: Any) -> Any:
    """Parse text that is a JSON list; anything else stays as it is."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return parse_json(value)
        except FormatError:
            pass
    return value


def _sequences(rows: list[TableRow], what: str, text: str | None, ids: Ids) -> list[list[Token]]:
    """The tokens of all inputs or answers; notes in `ids` how text was split."""
    split = text_splitter("words" if text is None else text)
    sequences: list[list[Token]] = []
    words, others = set[Token](), set[Token]()
    for row in rows:
        value = getattr(row, what)
        with located(row.where):
            value = _list_in(value) if text is None else value
            is_text = isinstance(value, str)
            sequences.append(split(value) if is_text else _tokens(value, what))
            (words if is_text else others).update(sequences[-1])
    if text or words:
        ids.text = text or "words"
    if text is None and all(map(is_integer, words)) and not any(isinstance(token, str) for token in others):
        return [[int(token) for token in tokens] for tokens in sequences]
    return sequences


def _tokens(value: Any, what: str) -> list[Token]:
    """Convert a list of any library."""
    if (items := listed(value)) is None:
        raise FormatError(f"{what} must be text or a list of tokens: got {_given(value)}")
    tokens: list[Token] = []
    for place, item in enumerate(items):
        if (token := plain_token(item)) is None:
            raise FormatError(f"{what}[{place}] must be an integer or a string: got {_given(item)}")
        tokens.append(token)
    return tokens


def _labels(rows: list[TableRow]) -> list[Label]:
    """The labels of all rows; those of a text file are integers if all of them can be."""
    labels: list[Label] = []
    for row in rows:
        value = None if row.written and row.y == "" else row.y
        if (label := plain_label(value)) is None:
            with located(row.where):
                raise FormatError(f"y must be a label, an integer or a string: got {_given(value)}")
        labels.append(label)
    if all(row.written for row in rows) and all(map(is_integer, labels)):
        return [int(label) for label in labels]
    return labels


def _given(value: Any) -> str:
    """Format a value for a message; an empty cell of a table is nothing."""
    return "nothing" if is_missing(value) else shown(value)


def is_missing(value: Any) -> bool:
    """Whether a table has nothing here: None, or NaN in a data frame."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _check_labels(groups: dict[str, list[TableRow]]) -> None:
    """Raise an error if labels look like sequences: in most tasks with enough examples, all differ."""
    judged = [group for group in groups.values() if len(group) >= _ROWS_TO_JUDGE and group[0].kind is None]
    different = [group for group in judged if len({plain_label(row.y) for row in group}) == len(group)]
    if 2 * len(different) > len(judged):
        first = different[0]
        with located(first[0].where):
            raise FormatError(
                f"the {len(first)} answers of task {shown(str(first[0].task))} all differ; {_GIVE_KIND}"
            )
