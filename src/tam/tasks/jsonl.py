"""Task sets as JSONL, one task a line: your own tasks in, any task set out."""

import codecs
import json
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tam.errors import SettingError, UserError, shown
from tam.io import path_of, replacing
from tam.tasks.jsonl_line import FormatError, Ids, Line, Rows, parse_example, parse_json, parse_line
from tam.tasks.splits import assign_splits, check_complete, check_name, draw_splits
from tam.tasks.task import Classes, Integers, Label, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Token, Vocabulary, plain, sort_key

LINE_LIMIT = 64 * 2**20  # bytes; a longer line is refused before it fills the memory


class TasksFileError(UserError):
    """A file of tasks or splits that cannot be used; the message begins with `FILE:LINE: ` or `FILE: `."""


def read_tasks(path: str | Path, *, splits: str | Path | None = None, seed: int | None = None) -> TaskSet:
    """Read a task set from JSONL.

    A line is `{"task": name, "kind": "classification", "examples": [{"x": [tokens], "y": label}, …]}`,
    or of kind `"transduction"`, where `y` is a list of tokens. Tokens and labels are integers or
    strings. `"primitives"`, a list of strings, and `"split"` are optional.

    Args:
        path: The file, or a folder with `tasks.jsonl` and, if the splits stand apart, `splits.json`.
        splits: A file `{"train": [names], "valid": [names], "test": [names]}`.
        seed: Draws the splits by task, 80 : 10 : 10, if nothing gives them; 0 if left out.

    Raises:
        TasksFileError: If a file cannot be read or used; the message says where and why.
        UserError: If the path is no name of a file, or the seed none.

    Example:
        ```python
        tasks = read_tasks("tasks.jsonl", seed=0)
        tasks.train[0][0]  # the first example of the first training task
        ```
    """
    file, splits_file = _locate(path_of(path), None if splits is None else path_of(splits, "splits"))
    seed = _checked(seed)
    ids = Ids()
    lines = _read_lines(file, ids, splits_file)
    assignment = _assign(lines, file, splits_file, seed)
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
        options["seed"] = seed or 0
    return TaskSet({split: tuple(tasks) for split, tasks in by_split.items()}, vocabulary, options)


def read_examples(path: str | Path) -> dict[int, tuple[Any, Any]]:
    """Read the examples of one task from JSONL, by the number of their line.

    A line is `{"x": [tokens], "y": label or [tokens]}`. Which tokens and labels these may be is the model's
    to say.

    Raises:
        TasksFileError: If the file cannot be read or used; the message says where and why.
    """
    examples: dict[int, tuple[Any, Any]] = {}
    for number, text in _texts(path_of(path)):
        with _at(f"{path}:{number}"):
            examples[number] = parse_example(text)
    if not examples:
        raise TasksFileError(f"{path}: empty: expected one example a line")
    return examples


def write_tasks(taskset: TaskSet, path: str | Path) -> None:
    """Write a task set as JSONL that `read_tasks` reads back to the same content.

    The file appears complete or not at all.

    Raises:
        TasksFileError: If the file cannot be written, or could not be read back, as when a task is empty.

    Example:
        ```python
        write_tasks(tasks, "tasks.jsonl")
        assert read_tasks("tasks.jsonl").fingerprint == tasks.fingerprint
        ```
    """
    try:
        with _at(str(path)), replacing(path) as temporary:
            _check_writable(taskset)
            with open(temporary, "wb") as stream:
                for split, tasks in taskset.splits.items():
                    stream.writelines(_encode(task, split) for task in tasks)
    except TasksFileError:
        raise
    except UserError as error:
        raise TasksFileError(str(error)) from None


def _checked(seed: object) -> int | None:
    """A seed, as Python's own integer."""
    if seed is None:
        return None
    value = plain(seed)
    if not isinstance(value, int) or not 0 <= value < 2**63:
        raise SettingError(f"seed is an integer from 0 to {2**63 - 1}, not {shown(seed)}")
    return value


def _locate(path: Path, splits: Path | None) -> tuple[Path, Path | None]:
    if not os.path.isdir(path):
        return path, splits
    file, beside = path / "tasks.jsonl", path / "splits.json"
    if not os.path.lexists(file):
        raise TasksFileError(f"{path}: a folder without tasks.jsonl: give a file, or a folder that has it")
    return file, beside if splits is None and os.path.lexists(beside) else splits


@contextmanager
def _opened(file: Path) -> Generator[BinaryIO]:
    try:
        with open(file, "rb") as stream:
            yield stream
    except OSError as error:
        raise TasksFileError(f"{file}: cannot be read: {error.strerror or error}") from None


@contextmanager
def _at(place: str) -> Generator[None]:
    """Says where a format error is."""
    try:
        yield
    except FormatError as error:
        raise TasksFileError(f"{place}: {error}") from None


def _texts(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers."""
    with _opened(file) as stream:
        for number, raw in enumerate(iter(lambda: stream.readline(LINE_LIMIT + 1), b""), start=1):
            with _at(f"{file}:{number}"):
                text = _decode(raw, at_start=number == 1)
            if text:
                yield number, text


def _read_lines(file: Path, ids: Ids, splits_file: Path | None) -> list[Line]:
    lines: dict[str, Line] = {}
    for number, text in _texts(file):
        with _at(f"{file}:{number}"):
            line = parse_line(text, number, ids)
            _check_fits(line, lines, splits_file)
            lines[line.name] = line
    if not lines:
        raise TasksFileError(f"{file}: empty: expected one task a line")
    return list(lines.values())


def _decode(raw: bytes, *, at_start: bool) -> str:
    if len(raw.removesuffix(b"\n")) > LINE_LIMIT:
        raise FormatError(f"longer than the limit of {LINE_LIMIT:,} bytes: make several smaller tasks of it")
    if at_start:
        raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode().rstrip(" \t\r\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8: byte {raw[error.start]:#04x} at place {error.start + 1}") from None


def _check_fits(line: Line, others: Mapping[str, Line], splits_file: Path | None) -> None:
    if line.name in others:
        raise FormatError(
            f"task {line.name!r} is on line {others[line.name].number} already: names must differ"
        )
    if line.split is not None:
        check_name(line.split)
        if splits_file is not None:
            raise FormatError(f"'split' is given here and in {splits_file}: keep one of the two")
    first = next(iter(others.values()), line)
    at_first = f"on line {first.number}"
    if line.kind != first.kind:
        raise FormatError(
            f"kind {line.kind!r} here, but {first.kind!r} {at_first}: a file has tasks of one kind"
        )
    for field in ("primitives", "split"):
        here, there = getattr(line, field), getattr(first, field)
        if bool(here) != bool(there):
            given = f"given here, but not {at_first}" if here else f"given {at_first}, but not here"
            raise FormatError(f"{field!r} is {given}: give it on every line or on none")


def _assign(lines: Sequence[Line], file: Path, splits_file: Path | None, seed: int | None) -> dict[str, str]:
    names = [line.name for line in lines]
    in_lines = {line.name: line.split for line in lines if line.split is not None}
    if seed is not None and (splits_file or in_lines):
        raise TasksFileError(
            f"{splits_file or file}: gives the splits, so seed={seed} would have no effect: leave seed out"
        )
    try:
        if splits_file is not None:
            return assign_splits(_read_json(splits_file), names)
        if in_lines:
            check_complete(in_lines.values())
            return in_lines
        return draw_splits(names, seed or 0)
    except FormatError as error:
        raise TasksFileError(f"{splits_file or file}: {error}") from None


def _read_json(file: Path) -> object:
    with _opened(file) as stream:
        raw = stream.read(LINE_LIMIT + 1)
    try:
        return parse_json(_decode(raw, at_start=True))
    except FormatError as error:
        place = file if error.line is None else f"{file}:{error.line}"
        raise TasksFileError(f"{place}: {error}") from None


def _task(line: Line, vocabulary: Vocabulary, new_ids: Integers) -> Task:
    def sequences(rows: Rows) -> Sequences:
        return Sequences.from_flat(new_ids[rows.flat], rows.lengths, len(vocabulary))

    y = line.y if isinstance(line.y, Classes) else sequences(line.y)
    return Task(line.name, vocabulary, sequences(line.x), y, line.primitives)


def _check_writable(taskset: TaskSet) -> None:
    with_primitives = bool(next(iter(taskset)).primitives)
    for task in taskset:
        if not task.name or not len(task):
            raise FormatError(
                f"cannot be written: task {task.name!r} has no {'examples' if task.name else 'name'}"
            )
        if bool(task.primitives) != with_primitives:
            raise FormatError("cannot be written: some tasks have primitives and others have none")


def _encode(task: Task, split: str) -> bytes:
    tokens = task.vocabulary.tokens
    if isinstance(task.y, Classes):
        answers: list[Label] | list[list[Token]] = [task.y.labels[index] for index in task.y.ids.tolist()]
    else:
        answers = _decode_rows(task.y, tokens)
    inputs = _decode_rows(task.x, tokens)
    record: dict[str, object] = {"task": task.name, "kind": task.kind, "split": split}
    if task.primitives:
        record["primitives"] = task.primitives
    record["examples"] = [{"x": x, "y": y} for x, y in zip(inputs, answers, strict=True)]
    try:
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise FormatError(f"cannot be written: a string of task {task.name!r} has a lone surrogate") from None
    if len(line) > LINE_LIMIT:
        raise FormatError(f"cannot be written: task {task.name!r} takes more than {LINE_LIMIT:,} bytes")
    return line + b"\n"


def _decode_rows(rows: Sequences, tokens: Sequence[Token]) -> list[list[Token]]:
    flat = [tokens[index] for index in rows.flat.tolist()]
    ends = accumulate(rows.lengths.tolist(), initial=0)
    return [flat[start:end] for start, end in pairwise(ends)]
