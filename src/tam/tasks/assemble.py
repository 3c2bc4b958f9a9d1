"""Build a task set from tasks of any source: one kind, one vocabulary, and a split for each task."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tam.errors import SettingError, shown
from tam.io import path_of
from tam.tasks.jsonl_schema import (
    LINE_LIMIT,
    FormatError,
    Ids,
    Line,
    Rows,
    TasksFileError,
    decode_line,
    located,
    parse_json,
)
from tam.tasks.splits import Fold, assign_fold, assign_splits, check_complete, draw_fold, draw_splits
from tam.tasks.task import Classes, Integers, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary, plain_token, sort_key

PADDED_LIMIT = 2**28  # numbers; above it, padding may take PADDING_FACTOR times the tokens
PADDING_FACTOR = 16


class Splitting(NamedTuple):
    """Where the splits come from, unless the tasks have them: a file, or a draw with a seed."""

    file: Path | None
    seed: int
    fold: Fold | None

    @classmethod
    def read(cls, file: str | Path | None, seed: int | None, fold: str | None) -> "Splitting":
        """Check the options of a user; the default seed is 0."""
        path = None if file is None else path_of(file, "splits")
        number = 0 if seed is None else plain_token(seed)
        if not isinstance(number, int) or not 0 <= number < 2**63:
            raise SettingError(f"seed must be an integer from 0 to {2**63 - 1}: got {shown(seed)}")
        return cls(path, number, None if fold is None else Fold.read(fold))


def assemble(
    found: Iterable[Line],
    ids: Ids,
    source: str,
    splitting: Splitting,
    options: Mapping[str, object],
    *,
    partial: bool = False,
) -> TaskSet:
    """Build a task set with these options, perhaps with only some splits; the origin of its splits is added.

    Iterating over the tasks found adds their tokens to `ids`. Errors about all tasks begin with `source`.
    """
    file, seed, fold = splitting
    lines = _checked(found, source)
    assignment = _assign(lines, source, file, fold)
    with located(source):
        if assignment is None:
            names = [line.name for line in lines]
            if fold is not None:
                assignment = draw_fold(names, fold, seed)
            elif partial and len(names) < 3:  # too few to draw
                assignment = dict.fromkeys(names, "test")
            else:
                assignment = draw_splits(names, seed)
        if not partial:
            check_complete(assignment.values())
    by_split = _by_split(lines, ids, assignment)
    order = dict.fromkeys(("train", "valid", *assignment.values()))
    splits = {split: by_split[split] for split in order if split in by_split}
    made = dict(options)
    if file is not None:
        made["splits"] = str(file)
    elif lines[0].split is None:
        made["seed"] = seed
    if fold is not None:
        made["fold"] = str(fold)
    return TaskSet(splits, next(iter(splits.values()))[0].vocabulary, made, partial, ids.text)


def test_tasks(
    found: Iterable[Line], ids: Ids, source: str, splitting: Splitting
) -> dict[str, tuple[Task, ...]]:
    """The tasks of every test split, or all tasks if neither they nor a file define splits."""
    file, _, fold = splitting
    lines = _checked(found, source)
    assignment = _assign(lines, source, file, fold)
    if assignment is None and fold is not None:
        raise SettingError(f"fold must come with splits, a file of folds: got fold {fold} alone")
    by_split = _by_split(lines, ids, assignment or {line.name: "test" for line in lines})
    if splits := {split: tasks for split, tasks in by_split.items() if split.startswith("test")}:
        return splits
    raise TasksFileError(f"{source}: there are no test tasks")


def _by_split(lines: Sequence[Line], ids: Ids, assignment: Mapping[str, str]) -> dict[str, tuple[Task, ...]]:
    """The tasks of each split, with one vocabulary."""
    vocabulary = Vocabulary(sorted(ids, key=sort_key))
    new_ids = np.array(vocabulary.encode(ids), dtype=np.int64)
    splits: dict[str, list[Task]] = {}
    for line in lines:
        splits.setdefault(assignment[line.name], []).append(_task(line, vocabulary, new_ids))
    return {split: tuple(tasks) for split, tasks in splits.items()}


def _checked(found: Iterable[Line], source: str) -> list[Line]:
    """Check that tasks have different names, are alike, and fit into memory when padded."""
    lines: dict[str, Line] = {}
    padded = tokens = 0
    for line in found:
        with located(line.where):
            if line.name in lines:
                raise FormatError(
                    f"names must differ: {shown(line.name)} is also at {lines[line.name].where}"
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
        raise TasksFileError(f"{source}: empty: there are no tasks")
    return list(lines.values())


def _check_alike(line: Line, first: Line) -> None:
    if line.kind != first.kind:
        raise FormatError(f"all tasks must be of one kind: this is {line.kind}, {first.where} {first.kind}")
    for field in ("primitives", "split"):
        if bool(getattr(line, field)) != bool(getattr(first, field)):
            raise FormatError(f"{field} must be in every task or in none: this differs from {first.where}")


def _assign(
    lines: Sequence[Line], source: str, file: Path | None, fold: Fold | None
) -> dict[str, str] | None:
    """The split of each task, from the tasks or from a file; None if neither defines it."""
    given = {line.name: line.split for line in lines if line.split is not None}
    if given and (file is not None or fold is not None):
        other = f"in {file}" if file is not None else f"by fold {fold}"
        raise TasksFileError(f"{source}: tasks have a split both here and {other}: remove one")
    if file is None:
        return given or None
    names = [line.name for line in lines]
    with located(str(file)), open(file, "rb") as stream:
        content = parse_json(decode_line(stream.read(LINE_LIMIT + 1), at_start=True))
        if isinstance(content, list):
            return assign_fold(content, names, fold)
        if fold is not None:
            raise FormatError(
                f"fold {fold} needs a file of folds, [[names], [names], …]: this one has splits"
            )
        assignment = assign_splits(content, names)
        check_complete(assignment.values())
        return assignment


def _task(line: Line, vocabulary: Vocabulary, new_ids: Integers) -> Task:
    def sequences(rows: Rows) -> Sequences:
        return Sequences.from_flat(new_ids[rows.flat], rows.lengths, len(vocabulary))

    y = line.y if isinstance(line.y, Classes) else sequences(line.y)
    return Task(line.name, vocabulary, sequences(line.x), y, line.primitives, line.support)
