"""Read tasks from a file: JSONL, one task per line, or a table, one example per row."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tam.io import MALFORMED, path_of
from tam.tasks import jsonl_schema as schema
from tam.tasks.assemble import Splitting, assemble, test_tasks
from tam.tasks.jsonl_schema import Ids, Line, TasksFileError, located
from tam.tasks.rows import tasks_in
from tam.tasks.tables import Columns, read_table
from tam.tasks.task import Kind, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.text import is_prose, text_splitter


def read_tasks(
    path: str | Path,
    *,
    splits: str | Path | None = None,
    seed: int | None = None,
    fold: str | None = None,
    text: str | None = None,
    kind: Kind | None = None,
    columns: str | Columns | None = None,
    partial: bool = False,
) -> TaskSet:
    """Read a task set from JSONL, CSV, TSV or Parquet.

    A line of JSONL is
    `{"task": name, "kind": "classification", "examples": [{"x": [tokens], "y": label}, …]}`, or of kind
    `"transduction"`, where `y` is a list of tokens. Tokens and labels are integers or strings.
    `"primitives"`, a list of strings, and `"split"` are optional. A table has a row per example and the
    columns `task`, `x`, `y` and optionally `split`.

    A task with `"support"` and `"query"` instead of `"examples"` (in a table: a column `role`) is scored on
    those queries, after learning from that support.

    Args:
        path: The file, or a folder with `tasks.jsonl` and optionally `splits.json` and `folds.json`.
        splits: A file `{"train": [names], "valid": [names], "test": [names]}`, or a file of folds,
            `[[names], [names], …]`.
        seed: Seed for drawing the splits by task, 80 : 10 : 10, if no file gives them; by default 0.
        fold: The test fold, such as `2/5`; the next one is for validation, the others for training. The
            folds are those of the file `splits`, or drawn by task with the seed.
        text: How strings are split: `characters`, `words`, or by a file `tokenizer.json`. By default into
            words in a table, and in JSONL if the inputs of the first task are text with several words.
        kind: For a table: whether answers are labels (`classification`) or sequences (`transduction`); by
            default sequences if they are lists.
        columns: The names of a table's columns for task, x, y and perhaps split and role, such as
            `customer,message,label`; by default these five words.
        partial: Allow a file with only some of train, valid and test tasks: to look at, not to train on.

    Raises:
        TasksFileError: If a file cannot be read or used; the message says where and why.
        UserError: If the path or the seed is not valid.

    Example:
        ```python
        tasks = read_tasks("tasks.jsonl", seed=0)
        tasks.train[0][0]  # the first example of the first training task
        ```
    """
    file, splits_file = _locate(path_of(path), splits, fold)
    given = {"path": path, "text": text, "kind": kind}
    if isinstance(columns, str):
        given["columns"] = columns
    options = {name: str(value) for name, value in given.items() if value is not None}
    ids = Ids()
    lines = _read(file, ids, text, kind, _columns(columns))
    splitting = Splitting.read(splits_file, seed, fold)
    return assemble(lines, ids, str(file), splitting, options, partial=partial)


def read_test_tasks(
    path: str | Path,
    *,
    splits: str | Path | None = None,
    fold: str | None = None,
    text: str | None = None,
    kind: Kind | None = None,
    columns: str | None = None,
) -> dict[str, tuple[Task, ...]]:
    """Read the tasks of every test split, or all tasks if they have no splits; none are drawn.

    The arguments are those of `read_tasks`.
    """
    file, splits_file = _locate(path_of(path), splits, fold)
    ids = Ids()
    lines = _read(file, ids, text, kind, _columns(columns))
    return test_tasks(lines, ids, str(file), Splitting.read(splits_file, None, fold))


def read_examples(path: str | Path) -> dict[int, tuple[Any, Any]]:
    """Read the examples of one task from JSONL, by line number.

    A line is `{"x": [tokens], "y": label or [tokens]}`. Tokens and labels are not checked here, because
    their validity depends on the model.

    Raises:
        TasksFileError: If the file cannot be read or used; the message says where and why.
    """
    examples: dict[int, tuple[Any, Any]] = {}
    for number, text in _text_lines(path_of(path)):
        with located(f"{path}:{number}"):
            examples[number] = schema.parse_example(text)
    if not examples:
        raise TasksFileError(f"{path}: empty: there must be an example on each line")
    return examples


def read_questions(path: str | Path) -> tuple[dict[int, tuple[Any, Any]], dict[int, Any]]:
    """Read the examples of one task, as `read_examples` does, and inputs to answer: lines `{"x": [tokens]}`.

    Raises:
        TasksFileError: If the file cannot be read or used; the message says where and why.
    """
    examples: dict[int, tuple[Any, Any]] = {}
    questions: dict[int, Any] = {}
    for number, text in _text_lines(path_of(path)):
        with located(f"{path}:{number}"):
            if isinstance(value := schema.parse_json(text), dict) and value.keys() == {"x"}:
                questions[number] = value["x"]
            else:
                examples[number] = schema.parse_example(text)
    if not examples:
        raise TasksFileError(f'{path}: no examples: there must be a line with "x" and "y" for each')
    return examples, questions


def _inputs(task: Any) -> list[Any]:
    """The inputs of a task in JSONL; none if it is malformed."""
    try:
        return [example["x"] for example in task.get("examples") or task["support"]]
    except MALFORMED:
        return []


def _columns(given: str | Columns | None) -> Columns:
    return given if isinstance(given, Columns) else Columns.named(given)


def _locate(path: Path, splits: str | Path | None, fold: str | None) -> tuple[Path, str | Path | None]:
    """Find the files of tasks and of their splits or folds, perhaps in one folder."""
    if not os.path.isdir(path):
        return path, splits
    file, beside = path / "tasks.jsonl", path / ("splits.json" if fold is None else "folds.json")
    if not os.path.lexists(file):
        raise TasksFileError(f"{path}: a folder must have a file tasks.jsonl")
    return file, beside if splits is None and os.path.lexists(beside) else splits


def _read(file: Path, ids: Ids, text: str | None, kind: Kind | None, columns: Columns) -> Iterator[Line]:
    """Yield the tasks of a file."""
    if file.suffix.lower() in schema.TABLES:
        yield from tasks_in(read_table(file, columns), ids, text=text, kind=kind)
        return
    ids.text, split = text, None if text is None else text_splitter(text)
    for place, (number, line) in enumerate(_text_lines(file)):
        with located(where := f"{file}:{number}"):
            value = schema.parse_json(line)
            if place == 0 and text is None and is_prose(_inputs(value)):
                ids.text, split = "words", text_splitter("words")
            task = schema.task_of(value, where, ids, split)
        yield task


def _text_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, with their numbers."""
    with located(str(file)), open(file, "rb") as stream:
        for number, raw in enumerate(iter(lambda: stream.readline(schema.LINE_LIMIT + 1), b""), start=1):
            with located(f"{file}:{number}"):
                text = schema.decode_line(raw, at_start=number == 1)
            if text:
                yield number, text
