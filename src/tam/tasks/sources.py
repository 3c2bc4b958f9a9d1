"""`tam.tasks_from`: a task set from data in memory, or from a file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tam.errors import UserError, shown
from tam.tasks.assemble import Splitting, assemble
from tam.tasks.jsonl import read_tasks
from tam.tasks.jsonl_schema import FormatError, Ids, located
from tam.tasks.rows import TableRow, tasks_in
from tam.tasks.tables import Columns, is_table, table_rows
from tam.tasks.task import Kind
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import listed

_ROLES = {"support", "query"}


def tasks_from(
    source: Any,
    *,
    task: str = "task",
    x: str = "x",
    y: str = "y",
    split: str = "split",
    text: str | None = None,
    kind: Kind | None = None,
    splits: str | Path | None = None,
    seed: int | None = None,
    fold: str | None = None,
) -> TaskSet:
    """Make a task set from your own data.

    `source` may be:

    - a dictionary of tasks, `{name: [(x, y), …]}`, or of such dictionaries by split, `{"train": {…}, …}`;
      a task whose support is fixed is `{"support": [(x, y), …], "query": [(x, y), …]}`;
    - a list of examples, `[{"task": name, "x": …, "y": …}, …]`, or of tasks as in a JSONL file;
    - a pandas data frame, a pyarrow table or a Hugging Face dataset with a row per example; a dictionary of
      datasets by split, as Hugging Face returns it;
    - the name of a JSONL, CSV, TSV or Parquet file.

    An input is a list of tokens, or text, which is split according to `text`. An answer is a label, or a
    sequence like an input.

    Args:
        source: The data.
        task: The column with the name of the task.
        x: The column with the input.
        y: The column with the answer.
        split: The column with the task's split, if there is one.
        text: How text is split: `characters`, `words`, or a file `tokenizer.json`. By default a JSON list is
            parsed, and other text is split into words, as integers if all of them are.
        kind: Whether answers are labels (`classification`) or sequences (`transduction`, where text is split
            like inputs); by default sequences if they are lists.
        splits: A file `{"train": [names], "valid": [names], "test": [names]}`, or a file of folds.
        seed: Seed for drawing the splits by task, 80 : 10 : 10, if they are not given; by default 0.
        fold: The test fold, such as `2/5`; see `read_tasks`.

    Raises:
        UserError: If the data cannot be used; the message says where and why.

    Examples:
        >>> shout = {name: [("so it is", "yes"), ("so be it", "no")] for name in ("a", "b", "c")}
        >>> tasks_from(shout)
        TaskSet of 1 train, 1 valid, 1 test tasks (classification, 4 tokens)
        >>> tasks_from(shout, text="characters", kind="transduction").train[0][1]
        Example(x=['s', 'o', ' ', 'b', 'e', ' ', 'i', 't'], y=['n', 'o'])
    """
    columns = Columns(task, x, y, split)
    if isinstance(source, str | Path):
        return read_tasks(source, splits=splits, seed=seed, fold=fold, text=text, kind=kind, columns=columns)
    ids = Ids()
    lines = tasks_in(_rows(source, columns), ids, text=text, kind=kind)
    options = {} if text is None else {"text": str(text)}
    return assemble(lines, ids, "the tasks", Splitting.read(splits, seed, fold), options)


def _rows(source: Any, columns: Columns) -> Iterator[TableRow]:
    """Yield the examples of data in memory."""
    if is_table(source):
        return table_rows(source, columns)
    if isinstance(source, Mapping):
        if all(is_table(part) for part in source.values()):
            return (
                row for name, part in source.items() for row in table_rows(part, columns, split=str(name))
            )
        if all(isinstance(part, Mapping) and not _ROLES & set(part) for part in source.values()):
            return (row for name, part in source.items() for row in _named(part, str(name)))
        return _named(source, None)
    if (items := listed(source)) is None:
        raise UserError(
            "expected a dictionary of tasks, a list of examples, a table or the name of a file: got "
            f"{shown(source)}"
        )
    return _of_items(items, columns)


def _named(tasks: Mapping[Any, Any], split: str | None) -> Iterator[TableRow]:
    return (row for name, examples in tasks.items() for row in _examples(name, examples, split=split))


def _of_items(items: list[Any], columns: Columns) -> Iterator[TableRow]:
    """Yield the examples of a list, whose items are examples or tasks."""
    places: dict[str, str] = {}  # of tasks, by name
    for number, item in enumerate(items):
        with located(place := f"item {number}"):
            if not isinstance(item, Mapping):
                raise FormatError(
                    f"expected an object with {columns.task}, {columns.x}, {columns.y}: got {shown(item)}"
                )
            is_task = "examples" in item or bool(_ROLES & set(item))
            for field in (columns.task, *(() if is_task else (columns.x, columns.y))):
                if field not in item:
                    raise FormatError(f"no field {field!r}: got {', '.join(map(str, item))}")
            name, split = item[columns.task], item.get(columns.split)
            if is_task and places.setdefault(str(name), place) != place:
                raise FormatError(f"names must differ: {shown(name)} is also {places[str(name)]}")
        if is_task:
            examples = item["examples"] if "examples" in item else {r: item[r] for r in item if r in _ROLES}
            own = {"kind": item.get("kind"), "primitives": item.get("primitives", ())}
            yield from _examples(name, examples, split=split, **own)
        else:
            yield TableRow(place, name, item[columns.x], item[columns.y], split, item.get(columns.role))


def _examples(name: Any, examples: Any, role: str | None = None, **of_task: Any) -> Iterator[TableRow]:
    """Yield the examples of a task; those of its support or query get that `role`."""
    if isinstance(examples, Mapping):
        for part, members in examples.items():
            yield from _examples(name, members, str(part), **of_task)
        return
    task = f"task {shown(name)}"
    with located(task):
        pairs = listed(examples)
        if not pairs:
            raise FormatError(f"expected a list of examples, each a pair of x and y: got {shown(examples)}")
    for number, pair in enumerate(pairs):
        where = f"{task}, {role or 'example'} {number}"
        with located(where):
            if isinstance(pair, Mapping):
                if set(pair) != {"x", "y"}:
                    raise FormatError(f"an example must have x and y: got {', '.join(map(str, pair))}")
                pair = pair["x"], pair["y"]
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise FormatError(f"expected a pair of x and y: got {shown(pair)}")
        yield TableRow(where, name, pair[0], pair[1], role=role, **of_task)
