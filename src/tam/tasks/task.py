"""A task: examples of one rule, stored as compact integer arrays."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tam.errors import shown
from tam.tasks.vocabulary import Token, Vocabulary

Label = int | str
Kind = Literal["classification", "transduction"]
Integers = NDArray[np.integer[Any]]
Floats = NDArray[np.floating[Any]]


def metric_of(kind: str) -> str:
    """The metric for tasks of a kind, or of a benchmark: accuracy for labels, else perplexity."""
    return "accuracy" if kind == "classification" else "perplexity"


class Example(NamedTuple):
    """An input sequence with its answer: a label, or a sequence."""

    x: list[Token]
    y: Label | list[Token]


def compact(ids: Integers, largest: int) -> Integers:
    """Cast to the smallest unsigned type that holds `largest`."""
    return ids.astype(np.min_scalar_type(max(largest, 1)), copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """Rows of token ids of various lengths, padded with zeros to one width."""

    ids: Integers  # [rows, width]
    lengths: Integers  # [rows]

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[int]], vocabulary_size: int) -> "Sequences":
        """Pad lists of token ids.

        >>> Sequences.from_lists([[3, 1], [2]], 12).ids.tolist()
        [[3, 1], [2, 0]]
        """
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        return cls.from_flat(np.array([id for row in rows for id in row]), lengths, vocabulary_size)

    @classmethod
    def from_flat(cls, flat: Integers, lengths: Integers, vocabulary_size: int) -> "Sequences":
        """Pad rows that are concatenated in `flat`."""
        width = int(lengths.max(initial=0))
        ids = np.zeros((len(lengths), width), dtype=np.min_scalar_type(max(vocabulary_size - 1, 1)))
        ids[np.arange(width) < lengths[:, None]] = flat
        return cls(ids, compact(lengths, width))

    @property
    def flat(self) -> Integers:
        """The tokens of all rows, concatenated, without padding."""
        return self.ids[np.arange(self.ids.shape[1]) < self.lengths[:, None]]

    def __len__(self) -> int:
        return len(self.lengths)

    def row(self, index: int) -> Integers:
        """The token ids of one row, without padding."""
        return self.ids[index, : self.lengths[index]]

    def tuples(self) -> list[tuple[int, ...]]:
        """The token ids of all rows, without padding."""
        return [tuple(self.row(index).tolist()) for index in range(len(self))]

    def token_sets(self) -> tuple[Integers, NDArray[np.bool_]]:
        """The tokens that occur, and which of them occur in each row, `[rows, tokens]`."""
        tokens, places = np.unique(self.flat, return_inverse=True)
        occurs = np.zeros((len(self), len(tokens)), dtype=bool)
        occurs[np.repeat(np.arange(len(self)), self.lengths), places] = True
        return tokens, occurs


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """A class id for each row; `labels[id]` is the user's label for it."""

    ids: Integers  # [rows]
    labels: tuple[Label, ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A name, examples of one rule, and optionally the primitives that compose it.

    The type of `y` is the kind: `Classes` for classification, `Sequences` for transduction. Iterating yields
    the examples in the user's own tokens and labels. With a fixed `support`, a task is scored by learning
    from that many of its first examples and answering the rest.
    """

    name: str
    vocabulary: Vocabulary
    x: Sequences
    y: Classes | Sequences
    primitives: tuple[str, ...] = ()
    support: int | None = None

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError(f"task {shown(self.name)}: {len(self.x)} inputs but {len(self.y)} answers")
        if self.support is not None and not 0 < self.support < len(self.x):
            raise ValueError(
                f"task {shown(self.name)}: support must be from 1 to {len(self.x) - 1}: got {self.support}"
            )

    @property
    def kind(self) -> Kind:
        """Classification or transduction."""
        return "classification" if isinstance(self.y, Classes) else "transduction"

    @property
    def sequences(self) -> tuple[Sequences, ...]:
        """X and, in transduction, y."""
        return (self.x,) if isinstance(self.y, Classes) else (self.x, self.y)

    def pairs(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The token ids of every input and its answer; transduction only."""
        assert isinstance(self.y, Sequences)
        return list(zip(self.x.tuples(), self.y.tuples(), strict=True))

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Example:
        x = self.vocabulary.decode(self.x.row(index).tolist())
        if isinstance(self.y, Classes):
            return Example(x, self.y.labels[self.y.ids[index]])
        return Example(x, self.vocabulary.decode(self.y.row(index).tolist()))

    def __iter__(self) -> Iterator[Example]:
        return (self[index] for index in range(len(self)))


def used_tokens(tasks: Iterable[Task], vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which tokens of their vocabulary occur in these tasks."""
    used = np.zeros(len(vocabulary), dtype=bool)
    for task in tasks:
        for part in task.sequences:
            used[part.flat] = True
    return used
