"""Generated task sets on disk: named by their options, written atomically, verified when read."""

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tam.tasks.task import Classes, Integers, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary


def folder() -> Path:
    """Where the cache is: `$TAM_CACHE`, else `tam` in the user's cache folder."""
    if chosen := os.environ.get("TAM_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tam"


def path_of(name: str, options: Mapping[str, object]) -> Path:
    """The file of a task set with these options."""
    digest = _hash(json.dumps(options, sort_keys=True))
    return folder() / f"{name}-{digest[:16]}.safetensors"


def write(path: Path, tasks: TaskSet) -> None:
    """Write a task set; a reader sees the whole file or none."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    everything = list(tasks)
    arrays = {f"x.{part}": array for part, array in _pack([task.x for task in everything]).items()}
    arrays |= {f"y.{part}": array for part, array in _pack([task.y for task in everything]).items()}
    header = json.dumps(
        {
            "fingerprint": tasks.fingerprint,
            "vocabulary": tasks.vocabulary.tokens,
            "splits": {split: len(members) for split, members in tasks.splits.items()},
            "tasks": [[task.name, len(task), task.primitives, _labels(task)] for task in everything],
        }
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        os.close(descriptor)
        try:
            save_file(arrays, temporary, {"tam": f"{_hash(header)} {header}"})
            os.replace(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)
    except (OSError, SafetensorError) as error:
        warnings.warn(f"the task set is not cached: {path} cannot be written ({error})", stacklevel=2)


def read(path: Path, options: Mapping[str, object]) -> TaskSet | None:
    """The task set in this file; None if there is none, or, with a warning, if it is damaged."""
    if not os.path.exists(path):  # unlike path.exists(), never an error
        return None
    try:
        return _read(path, options)
    except Exception as error:  # whatever a damaged file does, the set is made again
        reason = str(error) or type(error).__name__
        warnings.warn(f"{path} is damaged ({reason}); the task set is made again", stacklevel=2)
        return None


def _read(path: Path, options: Mapping[str, object]) -> TaskSet:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        digest, text = file.metadata()["tam"].split(" ", 1)
        arrays: dict[str, Integers] = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    if _hash(text) != digest:
        raise ValueError("its header does not match its hash")
    header: dict[str, Any] = json.loads(text)
    vocabulary = Vocabulary(header["vocabulary"])
    counts = [count for _, count, _, _ in header["tasks"]]
    labels = [tuple(names) if names is not None else None for _, _, _, names in header["tasks"]]
    xs = _unpack(arrays, "x", counts, [None] * len(counts), len(vocabulary))
    ys = _unpack(arrays, "y", counts, labels, len(vocabulary))
    tasks = iter(
        [
            Task(name, vocabulary, x, y, tuple(primitives))
            for (name, _, primitives, _), x, y in zip(header["tasks"], xs, ys, strict=True)
            if isinstance(x, Sequences)
        ]
    )
    splits = {split: tuple(next(tasks) for _ in range(size)) for split, size in header["splits"].items()}
    found = TaskSet(splits, vocabulary, options)
    if found.fingerprint != header["fingerprint"]:
        raise ValueError("its content does not match its fingerprint")
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _labels(task: Task) -> list[int | str] | None:
    return list(task.y.labels) if isinstance(task.y, Classes) else None


def _pack(parts: list[Sequences] | list[Classes | Sequences]) -> dict[str, Integers]:
    sequences = [part for part in parts if isinstance(part, Sequences)]
    if sequences:
        return {"flat": _join(p.flat for p in sequences), "lengths": _join(p.lengths for p in sequences)}
    return {"classes": _join(part.ids for part in parts if isinstance(part, Classes))}


def _join(arrays: Iterable[Integers]) -> Integers:
    return np.concatenate(list(arrays))


def _unpack(
    arrays: Mapping[str, Integers],
    part: str,
    counts: list[int],
    labels: list[tuple[int | str, ...] | None],
    vocabulary_size: int,
) -> Iterator[Sequences | Classes]:
    ends = np.cumsum(counts)[:-1]
    if f"{part}.classes" in arrays:
        for ids, names in zip(np.split(arrays[f"{part}.classes"], ends), labels, strict=True):
            yield Classes(ids, names or ())
        return
    lengths = arrays[f"{part}.lengths"].astype(np.int64)
    rows = np.split(lengths, ends)
    tokens = np.split(arrays[f"{part}.flat"], np.cumsum([row.sum() for row in rows])[:-1])
    for flat, row in zip(tokens, rows, strict=True):
        yield Sequences.from_flat(flat, row, vocabulary_size)
