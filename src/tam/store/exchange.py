"""Stored tasks as JSONL: each line has a task and the identities of its model's weights."""

from collections.abc import Iterable
from pathlib import Path

from tam.errors import UserError, shown
from tam.io import STRING, Part, check_parts, is_list_of, json_text, replacing
from tam.store.stored import StoredTask
from tam.tasks.jsonl_schema import (
    LINE_LIMIT,
    FormatError,
    TasksFileError,
    check_not_a_table,
    decode_line,
    located,
    parse_json,
)

_WEIGHTS = {"task": STRING, "weights": Part(is_list_of(str), "a list of strings")}


def export(path: str | Path, weights: list[str], tasks: Iterable[StoredTask]) -> int:
    """Write tasks; return how many."""
    check_not_a_table(path)
    count = 0
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        for task in tasks:
            file.write(json_text(task.to_json() | {"weights": weights}) + "\n")
            count += 1
    return count


def read_exported(path: Path) -> tuple[list[str], list[StoredTask]]:
    """Read the identities of the model's weights and the tasks; all lines must be of one model."""
    weights: list[str] = []
    tasks: dict[str, StoredTask] = {}
    with located(str(path)), open(path, "rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(LINE_LIMIT + 1), b""), start=1):
            with located(f"{path}:{number}"):
                if not (text := decode_line(raw, at_start=number == 1)):
                    continue
                found, task = _line(text)
                if tasks and found != weights:
                    raise FormatError("all tasks must be of one model: this one is of another")
                if task.name in tasks:
                    raise FormatError(f"names must differ: {shown(task.name)} appears twice")
                weights, tasks[task.name] = found, task
    if not tasks:
        raise TasksFileError(f"{path}: empty: there must be a task on each line")
    return weights, list(tasks.values())


def _line(text: str) -> tuple[list[str], StoredTask]:
    if not isinstance(values := parse_json(text), dict):
        raise FormatError(f"expected an object, not {shown(values)}")
    try:
        check_parts(values, _WEIGHTS)
        task = StoredTask.from_json(values)
    except UserError as error:
        raise FormatError(str(error)) from None
    if task.embedding.model not in values["weights"]:
        raise FormatError("the model of the embedding must be one of the weights")
    return values["weights"], task
