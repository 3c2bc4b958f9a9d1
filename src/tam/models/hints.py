"""Hints: the answers that a simple rule finds in the examples of a task, read beside x.

A network trained on a few hundred tasks must otherwise learn by itself what the rule already knows. With
hints it starts from the rule's answers, and learns when to trust them and how to correct them.

- Transduction: x becomes `answer₁ | answer₂ | … | x`, the answers of `VotedEdits`, best first, or on lists of
  integers those of `ListRule`; where it has none, answer₁ is x itself, and where it has too few, others are
  empty. The separator `|` has an id.
- Classification: before x stands a token for each of the likeliest classes, best first, that tells the class
  and how sure the rule is. The rule is ridge regression on which tokens occur, each with its weight.

An example of the support gets the hints of the others, so that it is read as a query is.

Shapes: N rows of a task, M of them in the support, C classes, V token ids.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tam.models.model import Model
from tam.models.spec import HINT_LEVELS, ModelSpec
from tam.tasks.edits import Row, VotedEdits
from tam.tasks.lists.search import ListRule
from tam.tasks.rng import Rng
from tam.tasks.task import Classes, Integers, Sequences, Task

TIMES = 8
"""How often each training example occurs, with the hints of different supports."""
_LARGEST = 200  # support in training
_WORTH_RECALLING = 0.1  # of the training examples, at least, must have an input that others have too
_RIDGE = 1.0
_SURE = (-0.5, -0.2, -0.05, 0.05, 0.2, 0.5, 1.0)
"""Bounds of the levels: by how much a class scores higher than the best other one."""
assert len(_SURE) == HINT_LEVELS - 1

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Hints:
    """Adds hints to tasks, which are in the ids of a model with this spec."""

    spec: ModelSpec
    token_weights: Floats | None = None  # [V], for classification
    memory: Mapping[Row, Mapping[int, Row]] = field(default_factory=dict)
    """For sequences: what training tasks answer to an input, by their numbers."""

    @classmethod
    def of_model(cls, model: Model) -> "Hints | None":
        """The hints that a model reads, if it does."""
        if not model.spec.hints:
            return None
        if model not in _KNOWN:
            weights = model.token_weights
            _KNOWN[model] = cls(
                model.spec,
                None if weights is None else weights.cpu().numpy().astype(np.float64),
                {} if model.memory is None else _recalled(model.memory.cpu().numpy(), model.spec),
            )
        return _KNOWN[model]

    def add(self, task: Task, support: Integers, rows: Integers) -> Task:
        """These rows of a task, with what its rows `support` say of each; of its own answer, none says."""
        return self._with(task, rows, self._hinted(task, [(support, rows)]))

    def ask(self, task: Task, x: Sequences) -> list[list[int]]:
        """Inputs with what all examples of a task say of them; unknown tokens still have their codes."""
        flat = np.concatenate([task.x.flat, x.flat]).astype(np.int64)
        lengths = np.concatenate([task.x.lengths, x.lengths])
        inputs = Sequences.from_flat(flat, lengths, int(flat.max(initial=0)) + 1)
        nothing = np.zeros(len(x), dtype=np.int64)  # their answers are not looked at
        if isinstance(task.y, Classes):
            y = Classes(np.concatenate([task.y.ids, nothing]), task.y.labels)
        else:
            width = ((0, len(x)), (0, 0))
            y = Sequences(np.pad(task.y.ids, width), np.concatenate([task.y.lengths, nothing]))
        support, rows = np.split(np.arange(len(inputs)), [len(task)])
        return self._hinted(Task(task.name, task.vocabulary, inputs, y), [(support, rows)])

    def placed(self, x: Sequence[int], y: Sequence[int] = ()) -> tuple[list[int], list[int]]:
        """An input with hints and its answer with the ids that the model reads in the place of codes.

        As in `TokenIds`: V + the first place in x; a token of y that is not in x stays unknown.
        """
        codes, unknown = self.spec.codes, self.spec.unknown_token
        if codes is None or unknown is None or max((*x, *y), default=0) < codes:
            return [*x], [*y]
        place = {token: self.spec.vocabulary + x.index(token) for token in x if token >= codes}
        x_ids, y_ids = (
            [token if token < codes else place.get(token, unknown) for token in part] for part in (x, y)
        )
        return x_ids, y_ids

    def for_training(self, tasks: Sequence[Task], seed: int) -> tuple[Task, ...]:
        """Every example several times, each time with the hints of another random support of the task.

        Its size is drawn log-uniformly from 2 to two thirds of the task's examples, at most 200.
        """
        return tuple(
            self._for_training(task, number, Rng("hints", seed, task.name))
            for number, task in enumerate(tasks)
        )

    def _for_training(self, task: Task, number: int, rng: Rng) -> Task:
        rows, most = np.arange(len(task)), min(_LARGEST, max(2, 2 * len(task) // 3))
        chance = rng.integers(2**16, TIMES) / 2**16
        sizes = np.round(2 * (most / 2) ** chance).astype(int)
        asked = [(rng.permutation(len(task))[:size], rows) for size in sizes.tolist()]
        return self._with(task, np.tile(rows, TIMES), self._hinted(task, asked, number))

    def _with(self, task: Task, rows: Integers, x: list[list[int]]) -> Task:
        size = self.spec.vocabulary + self.spec.most_places
        if isinstance(task.y, Classes):
            y: Classes | Sequences = Classes(task.y.ids[rows], task.y.labels)
            return Task(task.name, task.vocabulary, Sequences.from_lists(x, size), y, task.primitives)
        answers = [task.y.row(row).tolist() for row in range(len(task))]
        pairs = [self.placed(one, answers[row]) for one, row in zip(x, rows.tolist(), strict=True)]
        ids, y = (Sequences.from_lists([pair[part] for pair in pairs], size) for part in (0, 1))
        return Task(task.name, task.vocabulary, ids, y, task.primitives)

    def _hinted(
        self, task: Task, asked: Sequence[tuple[Integers, Integers]], number: int | None = None
    ) -> list[list[int]]:
        """The inputs of pairs of a support and the rows that are asked, one after another.

        `number` is that of a training task, whose own answers are not recalled.
        """
        if isinstance(task.y, Classes):
            return self._with_classes(task, task.y, asked)
        return self._with_answers(task, task.y, asked, number)

    def _with_answers(
        self, task: Task, y: Sequences, asked: Sequence[tuple[Integers, Integers]], number: int | None
    ) -> list[list[int]]:
        rows = [(tuple(task.x.row(i).tolist()), tuple(y.row(i).tolist())) for i in range(len(task))]
        recalled = (self.memory.get(x, {}) for x, _ in rows)
        others = [{n: answer for n, answer in one.items() if n != number} for one in recalled]
        rule, separator = self._rule(task, rows, VotedEdits(rows, others), asked), self.spec.named
        found: list[list[int]] = []
        for support, some in asked:
            by_row = rule.answers(support.tolist(), some.tolist(), self.spec.hints)
            for row, given in zip(some.tolist(), by_row, strict=True):
                x = rows[row][0]
                answers = [*(given or [x]), *[()] * self.spec.hints][: self.spec.hints]
                told = [token for one in answers for token in (*one[: self.spec.longest_y], separator)]
                found.append([*told, *x])
        return found

    def _rule(
        self,
        task: Task,
        rows: Sequence[tuple[Row, Row]],
        edits: VotedEdits,
        asked: Sequence[tuple[Integers, Integers]],
    ) -> VotedEdits | ListRule:
        """Edits, or on lists of integers these and random programs."""
        if not self.spec.programs:
            return edits
        numbers = [token for token in task.vocabulary.tokens if isinstance(token, int)]
        known = [*dict.fromkeys(row for support, _ in asked for row in support.tolist())]
        return ListRule(rows, edits, numbers, known, self.spec.programs)

    def _with_classes(
        self, task: Task, y: Classes, asked: Sequence[tuple[Integers, Integers]]
    ) -> list[list[int]]:
        assert self.token_weights is not None
        classes = len(y.labels)
        bags = _bags(task, self.token_weights)
        labels = np.where(y.ids[:, None] == np.arange(classes), 1.0, -1.0)  # [N, C]
        inputs = [task.x.row(i).tolist() for i in range(len(task))]
        count = min(self.spec.hints, classes)
        found: list[list[int]] = []
        for support, rows in asked:
            scores = ridge_scores(bags @ bags[support].T, labels, support)[rows]
            order = np.argsort(-scores, axis=1, kind="stable")
            tokens = self.spec.named + order * HINT_LEVELS + _levels(np.take_along_axis(scores, order, 1))
            for row, own in zip(rows.tolist(), tokens[:, :count].tolist(), strict=True):
                found.append([*own, *inputs[row]])
        return found


def ridge_scores(kernel: Floats, labels: Floats, support: Integers) -> Floats:
    """Ridge regression of the labels `[N, C]`, ±1, on a support, for all rows: `[N, C]`.

    A row of the support gets what the regression on all others gives, in closed form. The kernel is that of
    all rows with those of the support, `[N, M]`.
    """
    inverse = np.linalg.inv(kernel[support] + _RIDGE * np.eye(len(support)))
    weights = inverse @ labels[support]  # [M, C]
    scores = kernel @ weights
    scores[support] = labels[support] - weights / np.diag(inverse)[:, None]
    return scores


def _bags(task: Task, weights: Floats) -> Floats:
    """Which tokens occur in each input, times their weights, as unit vectors: `[N, tokens of the task]`."""
    tokens, flat = np.unique(task.x.flat, return_inverse=True)
    bags = np.zeros((len(task), len(tokens)))
    bags[np.repeat(np.arange(len(task)), task.x.lengths), flat] = 1.0
    bags *= weights[tokens]
    return bags / np.maximum(np.linalg.norm(bags, axis=1, keepdims=True), 1e-9)


def _levels(scores: Floats) -> Integers:
    """How sure each class is, by its lead over the best other; scores are sorted, `[rows, C]`."""
    if scores.shape[1] == 1:
        return np.full(scores.shape, HINT_LEVELS - 1)
    best_other = np.broadcast_to(scores[:, :1], scores.shape).copy()
    best_other[:, 0] = scores[:, 1]
    return np.searchsorted(_SURE, scores - best_other)


_KNOWN: WeakKeyDictionary[Model, Hints] = WeakKeyDictionary()


def memory_size(tasks: Sequence[Task]) -> int:
    """How many training examples are worth recalling: all, or none where tasks hardly share any input."""
    if isinstance(tasks[0].y, Classes):
        return 0
    counts = Counter(tuple(task.x.row(i).tolist()) for task in tasks for i in range(len(task)))
    shared = sum(count for count in counts.values() if count > 1)
    return counts.total() if shared >= _WORTH_RECALLING * counts.total() else 0


def memorised(tasks: Sequence[Task], spec: ModelSpec) -> NDArray[np.int32]:
    """The examples of training tasks as rows: the number of the task, length and ids of x, then of y."""
    found = np.zeros((spec.memory, 3 + spec.max_x + spec.max_y), dtype=np.int32)
    start = 0
    for number, task in enumerate(tasks):
        assert isinstance(task.y, Sequences)
        rows = found[start : start + len(task)]
        rows[:, 0], rows[:, 1], rows[:, 2 + spec.max_x] = number, task.x.lengths, task.y.lengths
        rows[:, 2 : 2 + task.x.ids.shape[1]] = task.x.ids
        rows[:, 3 + spec.max_x : 3 + spec.max_x + task.y.ids.shape[1]] = task.y.ids
        start += len(task)
    return found


def _recalled(rows: NDArray[np.int32], spec: ModelSpec) -> dict[Row, dict[int, Row]]:
    """What `memorised` wrote, by input and task."""
    found: dict[Row, dict[int, Row]] = {}
    for number, x_length, *ids in rows.tolist():
        x, y_length, y = ids[: spec.max_x], ids[spec.max_x], ids[spec.max_x + 1 :]
        found.setdefault(tuple(x[:x_length]), {})[number] = tuple(y[:y_length])
    return found


def rarity(tasks: Sequence[Task], spec: ModelSpec) -> Floats:
    """The weight of every token, `[V]`: log (n + 1) / (c + 1) if it is in c of n different inputs.

    Tokens that the model does not know weigh nothing: they may be different ones.
    """
    inputs = {tuple(task.x.row(i).tolist()) for task in tasks for i in range(len(task))}
    counts = np.bincount(
        np.array([token for x in inputs for token in set(x)], dtype=np.int64), minlength=spec.vocabulary
    )
    weights = np.log((len(inputs) + 1) / (counts[: spec.vocabulary] + 1))
    weights[spec.named :] = 0.0
    return weights
