"""A task set: train, valid and test tasks that share one vocabulary."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tam.errors import shown
from tam.io import replacing
from tam.tasks.jsonl_schema import LINE_LIMIT, FormatError, check_not_a_table, located
from tam.tasks.task import Classes, Integers, Kind, Sequences, Task, used_tokens
from tam.tasks.vocabulary import Token, Vocabulary, sort_key


@dataclass(frozen=True, eq=False)
class TaskSet:
    """Tasks by split, their vocabulary, and the options that made them.

    `splits` always has `train`, `valid` and at least one split whose name begins with `test`, unless the set
    is `partial`, which is only for looking at tasks and scoring them.
    """

    splits: Mapping[str, tuple[Task, ...]]
    vocabulary: Vocabulary
    options: Mapping[str, object] = field(default_factory=dict)
    partial: bool = False
    text: str | None = None
    """How text was split, as in `text_splitter`; None if all inputs were lists of tokens."""

    def __post_init__(self) -> None:
        others = set(self.splits) - {"train", "valid", *self.test_splits}
        is_complete = {"train", "valid"} <= set(self.splits) and self.test_splits
        if others or not (is_complete or (self.partial and self.splits)):
            raise ValueError(f"splits must be train, valid and test or test…: got {shown(list(self.splits))}")
        if empty := [split for split, tasks in self.splits.items() if not tasks]:
            raise ValueError(f"every split must have a task: {shown(empty[0])} has none")
        if any(task.vocabulary != self.vocabulary for task in self):
            raise ValueError("all tasks must have the vocabulary of the set")
        if len({task.kind for task in self}) > 1:
            raise ValueError("all tasks must be of one kind")
        name, count = Counter(task.name for task in self).most_common(1)[0]
        if count > 1:
            raise ValueError(f"names of tasks must differ: {shown(name)} occurs {count} times")

    def __iter__(self) -> Iterator[Task]:
        return (task for tasks in self.splits.values() for task in tasks)

    def __len__(self) -> int:
        return sum(len(tasks) for tasks in self.splits.values())

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(tasks)} {name}" for name, tasks in self.splits.items())
        return f"TaskSet of {sizes} tasks ({self.kind}, {len(self.vocabulary)} tokens)"

    @property
    def train(self) -> tuple[Task, ...]:
        """The tasks to train on."""
        return self.splits.get("train", ())

    @property
    def valid(self) -> tuple[Task, ...]:
        """The tasks to choose settings on."""
        return self.splits.get("valid", ())

    @property
    def test(self) -> tuple[Task, ...]:
        """The tasks to report results on, of all test splits."""
        return tuple(task for name in self.test_splits for task in self.splits[name])

    @property
    def test_splits(self) -> tuple[str, ...]:
        """The names of the test splits; most sets have only `test`."""
        return tuple(name for name in self.splits if name.startswith("test"))

    @property
    def kind(self) -> Kind:
        """Classification or transduction, the same for all tasks."""
        return next(iter(self)).kind

    @property
    def n_classes(self) -> int:
        """The largest number of classes in a task; 0 for transduction."""
        return max((len(task.y.labels) for task in self if isinstance(task.y, Classes)), default=0)

    @cached_property
    def primitives(self) -> tuple[str, ...]:
        """The primitives of all tasks, in the order of their ids."""
        return tuple(sorted({name for task in self for name in task.primitives}))

    @cached_property
    def unseen_primitives(self) -> frozenset[str]:
        """The primitives that occur in no training task."""
        seen = {name for task in self.train for name in task.primitives}
        return frozenset(self.primitives) - seen

    def primitive_ids(self, task: Task) -> tuple[int, ...]:
        """The ids of a task's primitives: their indices in `primitives`."""
        return tuple(map(self.primitives.index, task.primitives))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all content: splits, names, primitives, tokens and answers.

        It does not depend on ids, padding, array types or unused tokens, so a set written to JSONL
        and read back has the same fingerprint.
        """
        digest = hashlib.sha256()
        tokens, rank = _ranks(self.vocabulary.tokens, np.flatnonzero(used_tokens(self, self.vocabulary)))
        digest.update(_line(tokens))
        for split in sorted(self.splits):
            for task in self.splits[split]:
                fixed = () if task.support is None else (task.support,)
                digest.update(_line([split, task.name, task.kind, task.primitives, *fixed]))
                for part in (task.x, task.y):
                    if isinstance(part, Sequences):
                        digest.update(part.lengths.astype("<u4").tobytes())
                        digest.update(rank[part.flat].astype("<u4").tobytes())
                    else:
                        labels, label_rank = _ranks(part.labels, np.unique(part.ids))
                        digest.update(_line(labels) + label_rank[part.ids].astype("<u4").tobytes())
        return digest.hexdigest()

    def write(self, path: str | Path) -> None:
        """Write the tasks as JSONL, one per line; `read_tasks` reads back the same content.

        The file is replaced only once everything is written; content that cannot be read back is an error.
        """
        check_not_a_table(path)
        with_primitives = bool(next(iter(self)).primitives)
        with located(str(path)), replacing(path) as temporary, open(temporary, "wb") as stream:
            for split, tasks in self.splits.items():
                stream.writelines(_encode(task, split, with_primitives) for task in tasks)


def _ranks(values: tuple[Token, ...], used: Integers) -> tuple[list[Token], NDArray[np.uint32]]:
    """The used values, sorted, and the rank of each id among them."""
    order = sorted(used.tolist(), key=lambda index: sort_key(values[index]))
    rank = np.zeros(len(values), dtype=np.uint32)
    rank[order] = np.arange(len(order))
    return [values[index] for index in order], rank


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode() + b"\n"


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
