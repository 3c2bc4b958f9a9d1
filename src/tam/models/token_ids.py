"""The ids that a model gives to tokens, known and unknown."""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tam.models.spec import ModelSpec
from tam.tasks.task import Classes, Sequences, Task, used_tokens
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Token, Vocabulary, sort_key

_CODES = 2**30  # hash values of unknown tokens; collisions are very unlikely


def training_vocabulary(tasks: TaskSet) -> Vocabulary:
    """The tokens that occur in the training tasks."""
    used = np.flatnonzero(used_tokens(tasks.train, tasks.vocabulary))
    return Vocabulary(sorted(tasks.vocabulary.decode(used), key=sort_key))


@dataclass(frozen=True)
class TokenIds:
    """The ids that a model gives to tokens.

    A token outside the vocabulary is an error, unless the model has `unknown_tokens`; its id is then V − 1.
    In a model that copies, its id is V + its first place in x, so that an answer can contain it; if it is in
    y but not in x, it stays unknown. In a model that copies and reads hints, it has a code, the same in all
    rows, until `Hints` replaces it with such an id.
    """

    spec: ModelSpec
    vocabulary: Vocabulary

    def pair(self, x: Sequence[Token], y: Sequence[Token] = ()) -> tuple[list[int], list[int]]:
        """The ids of an input, and of its answer if that is a sequence."""
        unknown = self.spec.unknown_token
        if unknown is None:
            return self.vocabulary.encode(x), self.vocabulary.encode(y)
        if self.spec.codes is not None:
            return [self._coded(token) for token in x], [self._coded(token) for token in y]
        places: dict[Token, int] = {}
        if self.spec.copies:
            for place, token in enumerate(x):
                places.setdefault(token, self.spec.vocabulary + place)
        x_ids, y_ids = (
            [self.vocabulary.id_of(token, places.get(token, unknown)) for token in tokens]
            for tokens in (x, y)
        )
        return x_ids, y_ids

    def _coded(self, token: Token) -> int:
        assert self.spec.codes is not None
        return self.vocabulary.id_of(token, self.spec.codes + zlib.crc32(repr(token).encode()) % _CODES)

    def tokens_of(self, coded: Sequence[int], known: Iterable[Token]) -> list[Token]:
        """Decode ids with codes, given the tokens that may occur; separators of hints become `""`."""
        unknown = {self._coded(token): token for token in known if token not in self.vocabulary}
        tokens = self.vocabulary.tokens
        return [tokens[i] if i < len(tokens) else unknown.get(i, "") for i in coded]

    @property
    def size(self) -> int:
        """Upper bound of the ids in a row."""
        return self.spec.vocabulary + self.spec.most_places + (0 if self.spec.codes is None else _CODES)

    def decode(self, ids: Iterable[int], x: Sequence[Token]) -> list[Token]:
        """The tokens of an answer to x."""
        known = self.vocabulary.tokens
        return [known[i] if i < len(known) else x[i - self.spec.vocabulary] for i in ids]

    def count_unknown(self, tasks: Iterable[Task]) -> tuple[int, int]:
        """Number of tokens in these tasks that the model does not know, and of all their tokens."""
        unknown = total = 0
        for task in tasks:
            missing = self.vocabulary.ids_of(task.vocabulary) < 0
            for part in task.sequences:
                unknown, total = unknown + int(missing[part.flat].sum()), total + len(part.flat)
        return unknown, total

    def tasks(self, tasks: Iterable[Task]) -> tuple[Task, ...]:
        """Encode tasks with the model's ids; an unknown token is an error if the model has no id for it."""
        return tuple(task if task.vocabulary == self.vocabulary else self._task(task) for task in tasks)

    def _task(self, task: Task) -> Task:
        classify = isinstance(task.y, Classes)
        rows = [self.pair(x, () if isinstance(y, int | str) else y) for x, y in task]
        size = max(self.size, self.spec.vocabulary + int(task.x.lengths.max(initial=0)))
        x, y = (Sequences.from_lists([row[part] for row in rows], size) for part in (0, 1))
        return Task(task.name, self.vocabulary, x, task.y if classify else y, task.primitives, task.support)
