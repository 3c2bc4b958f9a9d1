"""Small files of tasks, and the result of reading them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tam.tasks.jsonl import read_tasks
from tam.tasks.jsonl_schema import TasksFileError
from tam.tasks.taskset import TaskSet


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"task": name, "kind": "classification", "examples": [{"x": [1], "y": 0}], **fields}


def save(folder: Path, lines: Iterable[Any], name: str = "tasks.jsonl") -> Path:
    """Write lines, given as text or as values, to a file."""
    file = folder / name
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    return file


def message(file: Path, **options: Any) -> str:
    """The message with which reading this file fails: one line, safe to print, and not a long one."""
    with pytest.raises(TasksFileError) as caught:
        read_tasks(file, **options)
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 2 * len(str(file)) + 250
    return text


def names(tasks: TaskSet) -> dict[str, list[str]]:
    return {split: [task.name for task in members] for split, members in tasks.splits.items()}
