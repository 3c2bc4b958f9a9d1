"""Generated task sets on disk: named by their options, written atomically, verified when read."""

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from tam.errors import UserError
from tam.io import replacing
from tam.tasks.task import Classes, Integers, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary


def folder() -> Path:
    """The cache folder: `$TAM_CACHE`, or else `tam` in the user's cache folder."""
    if chosen := os.environ.get("TAM_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tam"


def kept(name: str, version: int, options: Mapping[str, object], make: Callable[[], TaskSet]) -> TaskSet:
    """Read the task set with these options from its file, or make it and write the file."""
    digest = _hash(json.dumps({**options, "version": version}, sort_keys=True))
    file = folder() / f"{name}-{digest[:16]}.safetensors"
    tasks = read(file, options)
    if tasks is None:
        tasks = make()
        write(file, tasks)
    return tasks


def write(path: Path, tasks: TaskSet) -> None:
    """Write a task set; if that fails, warn."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    everything = list(tasks)
    arrays = _join("x", [task.x for task in everything]) | _join("y", [task.y for task in everything])
    header = json.dumps(
        {
            "fingerprint": tasks.fingerprint,
            "vocabulary": tasks.vocabulary.tokens,
            "splits": {split: len(members) for split, members in tasks.splits.items()},
            "tasks": [
                [task.name, len(task), task.primitives, getattr(task.y, "labels", None)]
                for task in everything
            ],
        }
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            save_file(arrays, temporary, {"tam": f"{_hash(header)} {header}"})
    except (OSError, UserError, SafetensorError) as error:
        warnings.warn(f"the task set is not cached: {path} cannot be written ({error})", stacklevel=2)


def read(path: Path, options: Mapping[str, object]) -> TaskSet | None:
    """Read a task set; None if there is no file or, with a warning, if it is damaged."""
    if not os.path.exists(path):  # unlike path.exists(), never an error
        return None
    try:
        return _read(path, options)
    except Exception as error:  # a damaged file can raise anything
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
    names, counts, primitives, labels = zip(*header["tasks"], strict=True)
    x = _split_sequences(arrays, "x", counts, len(vocabulary))
    if "y.classes" in arrays:
        ids = np.split(arrays["y.classes"], np.cumsum(counts)[:-1])
        y = map(Classes, ids, map(tuple, labels))
    else:
        y = _split_sequences(arrays, "y", counts, len(vocabulary))
    tasks = map(Task, names, repeat(vocabulary), x, y, map(tuple, primitives))
    splits = {split: tuple(next(tasks) for _ in range(size)) for split, size in header["splits"].items()}
    task_set = TaskSet(splits, vocabulary, options)
    if task_set.fingerprint != header["fingerprint"]:
        raise ValueError("its content does not match its fingerprint")
    return task_set


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _join(name: str, parts: Sequence[Sequences | Classes]) -> dict[str, Integers]:
    """Concatenate the rows of all tasks: their classes, or their tokens and lengths."""
    sequences = [part for part in parts if isinstance(part, Sequences)]
    if not sequences:
        return {f"{name}.classes": np.concatenate([part.ids for part in parts])}
    return {
        f"{name}.flat": np.concatenate([part.flat for part in sequences]),
        f"{name}.lengths": np.concatenate([part.lengths for part in sequences]),
    }


def _split_sequences(
    arrays: Mapping[str, Integers], name: str, counts: Sequence[int], vocabulary_size: int
) -> Iterator[Sequences]:
    lengths = np.split(arrays[f"{name}.lengths"].astype(np.int64), np.cumsum(counts)[:-1])
    flat = np.split(arrays[f"{name}.flat"], np.cumsum([part.sum() for part in lengths])[:-1])
    return (
        Sequences.from_flat(tokens, part, vocabulary_size) for tokens, part in zip(flat, lengths, strict=True)
    )
