"""Read tasks from JSONL, one task per line."""

import codecs
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tam.errors import SettingError, shown
from tam.io import path_of
from tam.tasks import jsonl_schema as schema
from tam.tasks.jsonl_schema import LINE_LIMIT, FormatError, Ids, Line, Rows, TasksFileError, located
from tam.tasks.task import Classes, Integers, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary, plain, sort_key

PADDED_LIMIT = 2**28  # numbers; larger files may grow to PADDING_FACTOR times their tokens
PADDING_FACTOR = 16


def read_tasks(path: str | Path, *, splits: str | Path | None = None, seed: int | None = None) -> TaskSet:
    """Read a task set from JSONL.

    A line is `{"task": name, "kind": "classification", "examples": [{"x": [tokens], "y": label}, …]}`,
    or of kind `"transduction"`, where `y` is a list of tokens. Tokens and labels are integers or
    strings. `"primitives"`, a list of strings, and `"split"` are optional.

    Args:
        path: The file, or a folder with `tasks.jsonl` and optionally `splits.json`.
        splits: A file `{"train": [names], "valid": [names], "test": [names]}`.
        seed: Seed for drawing the splits by task, 80 : 10 : 10, if no file gives them; by default 0.

    Raises:
        TasksFileError: If a file cannot be read or used; the message says where and why.
        UserError: If the path or the seed is not valid.

    Example:
        ```python
        tasks = read_tasks("tasks.jsonl", seed=0)
        tasks.train[0][0]  # the first example of the first training task
        ```
    """
    file, splits_file = _locate(path_of(path), None if splits is None else path_of(splits, "splits"))
    seed_used = 0 if seed is None else plain(seed)
    if not isinstance(seed_used, int) or not 0 <= seed_used < 2**63:
        raise SettingError(f"seed must be an integer from 0 to {2**63 - 1}: got {shown(seed)}")
    ids = Ids()
    lines = _read_lines(file, ids)
    assignment = _assign(lines, file, splits_file, seed_used)
    vocabulary = Vocabulary(sorted(ids, key=sort_key))
    new_ids = np.array(vocabulary.encode(ids), dtype=np.int64)

    tests = (split for split in assignment.values() if split.startswith("test"))
    by_split: dict[str, list[Task]] = {split: [] for split in ("train", "valid", *tests)}
    for line in lines:
        by_split[assignment[line.name]].append(_task(line, vocabulary, new_ids))

    options: dict[str, object] = {"path": str(path)}
    if splits_file is not None:
        options["splits"] = str(splits_file)
    elif lines[0].split is None:
        options["seed"] = seed_used
    return TaskSet({split: tuple(tasks) for split, tasks in by_split.items()}, vocabulary, options)


def read_examples(path: str | Path) -> dict[int, tuple[Any, Any]]:
    """Read the examples of one task from JSONL, by line number.

    A line is `{"x": [tokens], "y": label or [tokens]}`. Which tokens and labels are valid depends on the
    model, and is not checked here.

    Raises:
        TasksFileError: If the file cannot be read or used; the message says where and why.
    """
    examples: dict[int, tuple[Any, Any]] = {}
    for number, text in _texts(path_of(path)):
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
    for number, text in _texts(path_of(path)):
        with located(f"{path}:{number}"):
            if isinstance(value := schema.parse_json(text), dict) and value.keys() == {"x"}:
                questions[number] = value["x"]
            else:
                examples[number] = schema.parse_example(text)
    if not examples:
        raise TasksFileError(f'{path}: no examples: there must be a line with "x" and "y" for each')
    return examples, questions


def _locate(path: Path, splits: Path | None) -> tuple[Path, Path | None]:
    if not os.path.isdir(path):
        return path, splits
    file, beside = path / "tasks.jsonl", path / "splits.json"
    if not os.path.lexists(file):
        raise TasksFileError(f"{path}: a folder must have a file tasks.jsonl")
    return file, beside if splits is None and os.path.lexists(beside) else splits


def _texts(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers."""
    with located(str(file)), open(file, "rb") as stream:
        for number, raw in enumerate(iter(lambda: stream.readline(LINE_LIMIT + 1), b""), start=1):
            with located(f"{file}:{number}"):
                text = _decode(raw, at_start=number == 1)
            if text:
                yield number, text


def _decode(raw: bytes, *, at_start: bool) -> str:
    if len(raw.removesuffix(b"\n")) > LINE_LIMIT:
        raise FormatError(f"longer than the limit of {LINE_LIMIT:,} bytes: split it into smaller tasks")
    if at_start:
        raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode().rstrip(" \t\r\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8: byte {raw[error.start]:#04x} at place {error.start + 1}") from None


def _read_lines(file: Path, ids: Ids) -> list[Line]:
    lines: dict[str, Line] = {}
    padded = tokens = 0
    for number, text in _texts(file):
        with located(f"{file}:{number}"):
            line = schema.parse_task(text, number, ids)
            if line.name in lines:
                raise FormatError(
                    f"names must differ: {shown(line.name)} is also on line {lines[line.name].number}"
                )
            lines[line.name] = line
            _check_alike(line, next(iter(lines.values())))
            tokens += sum(len(part.flat) for part in line.rows)
            room = max(PADDED_LIMIT, PADDING_FACTOR * tokens) - padded
            count, width = len(line.x.lengths), sum(int(part.lengths.max()) for part in line.rows)
            if count * width > room:
                raise FormatError(
                    f"padding takes too much memory: each of these {count:,} examples must have at most "
                    f"{room // count:,} tokens: got {width:,} in the longest"
                )
            padded += count * width
    if not lines:
        raise TasksFileError(f"{file}: empty: there must be a task on each line")
    return list(lines.values())


def _check_alike(line: Line, first: Line) -> None:
    if line.kind != first.kind:
        raise FormatError(
            f"all tasks must be of one kind: this is {line.kind}, line {first.number} is {first.kind}"
        )
    for field in ("primitives", "split"):
        if bool(getattr(line, field)) != bool(getattr(first, field)):
            raise FormatError(
                f"{field} must be on every line or on none: this differs from line {first.number}"
            )


def _assign(lines: Sequence[Line], file: Path, splits_file: Path | None, seed: int) -> dict[str, str]:
    names = [line.name for line in lines]
    in_lines = {line.name: line.split for line in lines if line.split is not None}
    if splits_file is not None:
        if in_lines:
            raise TasksFileError(f"{file}: tasks have a split both here and in {splits_file}: remove one")
        with located(str(splits_file)), open(splits_file, "rb") as stream:
            raw = stream.read(LINE_LIMIT + 1)
            return schema.assign_splits(schema.parse_json(_decode(raw, at_start=True)), names)
    with located(str(file)):
        if not in_lines:
            return schema.draw_splits(names, seed)
        schema.check_complete(in_lines.values())
        return in_lines


def _task(line: Line, vocabulary: Vocabulary, new_ids: Integers) -> Task:
    def sequences(rows: Rows) -> Sequences:
        return Sequences.from_flat(new_ids[rows.flat], rows.lengths, len(vocabulary))

    y = line.y if isinstance(line.y, Classes) else sequences(line.y)
    return Task(line.name, vocabulary, sequences(line.x), y, line.primitives)
