"""Write tasks as JSONL, one task per line."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tam.errors import shown
from tam.io import replacing
from tam.tasks.jsonl_schema import LINE_LIMIT, FormatError, located
from tam.tasks.task import Task


def write_tasks(splits: Mapping[str, Sequence[Task]], path: str | Path) -> None:
    """Write the tasks of each split; see `TaskSet.write`."""
    with located(str(path)), replacing(path) as temporary:
        with_primitives = bool(next(task for tasks in splits.values() for task in tasks).primitives)
        with open(temporary, "wb") as stream:
            for split, tasks in splits.items():
                stream.writelines(_encode(task, split, with_primitives) for task in tasks)


def _encode(task: Task, split: str, with_primitives: bool) -> bytes:
    if not task.name or not len(task):
        raise FormatError(f"tasks must have a name and examples: {shown(task.name)} has {len(task)} examples")
    if bool(task.primitives) != with_primitives:
        raise FormatError("all tasks must have primitives, or none")
    record: dict[str, object] = {"task": task.name, "kind": task.kind, "split": split}
    if task.primitives:
        record["primitives"] = task.primitives
    examples = [example._asdict() for example in task]
    if task.support is None:
        record["examples"] = examples
    else:
        record |= {"support": examples[: task.support], "query": examples[task.support :]}
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    if len(line) > LINE_LIMIT:
        raise FormatError(f"task {shown(task.name)} takes more than the limit of {LINE_LIMIT:,} bytes")
    return line + b"\n"
