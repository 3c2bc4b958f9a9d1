"""Hints: answers that a simple rule derives from the examples of a task, read beside x.

Without them, a network trained on a few hundred tasks must learn what the rule already knows. With hints it
starts from the rule's answers, and learns when to trust them and how to correct them.

- Transduction: x becomes `answer₁ | answer₂ | … | x` with the answers of `VotedEdits`, or of `ListRule` on
  lists of integers, best first. If the rule has no answer, answer₁ is x itself; if it has too few, the rest
  are empty. The separator `|` has its own id.
- Classification: x is preceded by a token for each of the likeliest classes, best first, which encodes the
  class and the rule's confidence. The rule is ridge regression on the weighted set of tokens in x.

An example of the support gets its hints from the other examples, just like a query.

Shapes: N rows of a task, M of them in the support, C classes, V token ids.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tam.models.model import Model
from tam.models.spec import HINT_LEVELS, ModelSpec
from tam.tasks.edits import Row
from tam.tasks.lists.search import ListRule
from tam.tasks.rng import Rng
from tam.tasks.separate_edits import alternating
from tam.tasks.task import Classes, Floats, Integers, Sequences, Task
from tam.tasks.voted_edits import VotedEdits

TIMES = 8
"""Copies of each training example, each with hints from another support."""
_LARGEST = 200  # support in training
_WORTH_RECALLING = 0.1  # smallest share of training examples whose input occurs more than once
_RIDGE = 1.0
_SURE = (-0.5, -0.2, -0.05, 0.05, 0.2, 0.5, 1.0)
"""Bounds of the confidence levels: a class's lead over the best other class."""
assert len(_SURE) == HINT_LEVELS - 1


@dataclass(frozen=True, eq=False)
class Hints:
    """Adds hints to tasks that are encoded with the ids of a model with this spec."""

    spec: ModelSpec
    token_weights: Floats | None = None
    """From `token_weights`, `[V]`; None for sequences edited as a whole only."""
    memory: Mapping[Row, Mapping[int, Row]] = field(default_factory=dict)
    """For sequences: the training tasks' answers to an input, by task number."""

    @classmethod
    def of_model(cls, model: Model) -> "Hints | None":
        """The hints that a model reads, or None if it reads none."""
        if not model.spec.hints:
            return None
        if model not in _CACHE:
            weights = model.token_weights
            _CACHE[model] = cls(
                model.spec,
                None if weights is None else weights.cpu().numpy().astype(np.float64),
                {} if model.memory is None else _recalled(model.memory.cpu().numpy(), model.spec),
            )
        return _CACHE[model]

    def add(self, task: Task, support: Integers, rows: Integers) -> Task:
        """These rows of a task with hints from its rows `support`; no row gets a hint from its own answer."""
        return self._with(task, rows, self._hinted(task, [(support, rows)]))

    def ask(self, task: Task, x: Sequences) -> list[list[int]]:
        """Inputs with hints from all examples of a task; unknown tokens still have their codes."""
        flat = np.concatenate([task.x.flat, x.flat]).astype(np.int64)
        lengths = np.concatenate([task.x.lengths, x.lengths])
        inputs = Sequences.from_flat(flat, lengths, int(flat.max(initial=0)) + 1)
        nothing = np.zeros(len(x), dtype=np.int64)  # their answers are never read
        if isinstance(task.y, Classes):
            y = Classes(np.concatenate([task.y.ids, nothing]), task.y.labels)
        else:
            width = ((0, len(x)), (0, 0))
            y = Sequences(np.pad(task.y.ids, width), np.concatenate([task.y.lengths, nothing]))
        support, rows = np.split(np.arange(len(inputs)), [len(task)])
        return self._hinted(Task(task.name, task.vocabulary, inputs, y), [(support, rows)])

    def placed(self, x: Sequence[int], y: Sequence[int] = ()) -> tuple[list[int], list[int]]:
        """Replace the codes in an input with hints, and in its answer, with the ids that the model reads.

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
        """Repeat every example, each time with hints from another random support of its task.

        The support's size is drawn log-uniformly from 2 to two thirds of the task's examples, at most 200.
        """
        return tuple(
            self._for_training(task, number, Rng("hints", seed, task.name))
            for number, task in enumerate(tasks)
        )

    def _for_training(self, task: Task, number: int, rng: Rng) -> Task:
        rows, most = np.arange(len(task)), min(_LARGEST, max(2, 2 * len(task) // 3))
        chance = rng.integers(2**16, TIMES) / 2**16
        sizes = np.round(2 * (most / 2) ** chance).astype(int)
        episodes = [(rng.permutation(len(task))[:size], rows) for size in sizes.tolist()]
        return self._with(task, np.tile(rows, TIMES), self._hinted(task, episodes, number))

    def _with(self, task: Task, rows: Integers, x: list[list[int]]) -> Task:
        size = self.spec.vocabulary + self.spec.most_places
        if isinstance(task.y, Classes):
            y: Classes | Sequences = Classes(task.y.ids[rows], task.y.labels)
            return Task(task.name, task.vocabulary, Sequences.from_lists(x, size), y, task.primitives)
        answers = task.y.tuples()
        pairs = [self.placed(one, answers[row]) for one, row in zip(x, rows.tolist(), strict=True)]
        ids, y = (Sequences.from_lists([pair[part] for pair in pairs], size) for part in (0, 1))
        return Task(task.name, task.vocabulary, ids, y, task.primitives)

    def _hinted(
        self, task: Task, episodes: Sequence[tuple[Integers, Integers]], number: int | None = None
    ) -> list[list[int]]:
        """The inputs with hints, for episodes of a support and query rows, one after another.

        `number` is the number of a training task, whose own answers are not recalled.
        """
        if isinstance(task.y, Classes):
            return self._with_classes(task, task.y, episodes)
        return self._with_answers(task, episodes, number)

    def _with_answers(
        self, task: Task, episodes: Sequence[tuple[Integers, Integers]], number: int | None
    ) -> list[list[int]]:
        rows = task.pairs()
        recalled = (self.memory.get(x, {}) for x, _ in rows)
        others = [{n: answer for n, answer in one.items() if n != number} for one in recalled]
        members = None if self.token_weights is None else set(np.flatnonzero(self.token_weights).tolist())
        rule: VotedEdits | ListRule = VotedEdits(rows, others, members)
        if self.spec.programs:
            numbers = [token for token in task.vocabulary.tokens if isinstance(token, int)]
            known = [*dict.fromkeys(row for support, _ in episodes for row in support.tolist())]
            rule = ListRule(rows, rule, numbers, known, self.spec.programs)
        inputs: list[list[int]] = []
        for support, queries in episodes:
            by_row = rule.answers(support.tolist(), queries.tolist(), self.spec.hints)
            for row, answers in zip(queries.tolist(), by_row, strict=True):
                x = rows[row][0]
                padded = [*(answers or [x]), *[()] * self.spec.hints][: self.spec.hints]
                hints = [token for one in padded for token in (*one[: self.spec.longest_y], self.spec.named)]
                inputs.append([*hints, *x])
        return inputs

    def _with_classes(
        self, task: Task, y: Classes, episodes: Sequence[tuple[Integers, Integers]]
    ) -> list[list[int]]:
        assert self.token_weights is not None
        classes = len(y.labels)
        bags = _bags(task, self.token_weights)
        labels = np.where(y.ids[:, None] == np.arange(classes), 1.0, -1.0)  # [N, C]
        plain = task.x.tuples()
        count = min(self.spec.hints, classes)
        inputs: list[list[int]] = []
        for support, rows in episodes:
            scores = ridge_scores(bags @ bags[support].T, labels, support)[rows]
            order = np.argsort(-scores, axis=1, kind="stable")
            tokens = self.spec.named + order * HINT_LEVELS + _levels(np.take_along_axis(scores, order, 1))
            for row, hints in zip(rows.tolist(), tokens[:, :count].tolist(), strict=True):
                inputs.append([*hints, *plain[row]])
        return inputs


def ridge_scores(kernel: Floats, labels: Floats, support: Integers) -> Floats:
    """Score all rows by ridge regression of the labels (±1, `[N, C]`) on a support: `[N, C]`.

    A row of the support is scored by the regression on the rest of the support, in closed form. The kernel is
    between all rows and the support, `[N, M]`.
    """
    inverse = np.linalg.inv(kernel[support] + _RIDGE * np.eye(len(support)))
    weights = inverse @ labels[support]  # [M, C]
    scores = kernel @ weights
    scores[support] = labels[support] - weights / np.diag(inverse)[:, None]
    return scores


def _bags(task: Task, weights: Floats) -> Floats:
    """Each input's set of tokens, weighted, as a unit vector: `[N, tokens of the task]`."""
    tokens, occurs = task.x.token_sets()
    bags = occurs * weights[tokens]
    return bags / np.maximum(np.linalg.norm(bags, axis=1, keepdims=True), 1e-9)


def _levels(scores: Floats) -> Integers:
    """The confidence level of each class, by its lead over the best other; scores are sorted, `[rows, C]`."""
    if scores.shape[1] == 1:
        return np.full(scores.shape, HINT_LEVELS - 1)
    best_other = np.broadcast_to(scores[:, :1], scores.shape).copy()
    best_other[:, 0] = scores[:, 1]
    return np.searchsorted(_SURE, scores - best_other)


_CACHE: WeakKeyDictionary[Model, Hints] = WeakKeyDictionary()


def memory_size(tasks: Sequence[Task]) -> int:
    """Number of training examples to recall: all, or none if tasks hardly share inputs."""
    if isinstance(tasks[0].y, Classes):
        return 0
    counts = Counter(x for task in tasks for x in task.x.tuples())
    shared = sum(count for count in counts.values() if count > 1)
    return counts.total() if shared >= _WORTH_RECALLING * counts.total() else 0


def memorised(tasks: Sequence[Task], spec: ModelSpec) -> NDArray[np.int32]:
    """The examples of training tasks as rows: the number of the task, length and ids of x, then of y."""
    memory = np.zeros((spec.memory, 3 + spec.max_x + spec.max_y), dtype=np.int32)
    start = 0
    for number, task in enumerate(tasks):
        assert isinstance(task.y, Sequences)
        rows = memory[start : start + len(task)]
        rows[:, 0], rows[:, 1], rows[:, 2 + spec.max_x] = number, task.x.lengths, task.y.lengths
        rows[:, 2 : 2 + task.x.ids.shape[1]] = task.x.ids
        rows[:, 3 + spec.max_x : 3 + spec.max_x + task.y.ids.shape[1]] = task.y.ids
        start += len(task)
    return memory


def _recalled(rows: NDArray[np.int32], spec: ModelSpec) -> dict[Row, dict[int, Row]]:
    """The answers in rows that `memorised` wrote, by input and task."""
    answers: dict[Row, dict[int, Row]] = {}
    for number, x_length, *ids in rows.tolist():
        x, y_length, y = ids[: spec.max_x], ids[spec.max_x], ids[spec.max_x + 1 :]
        answers.setdefault(tuple(x[:x_length]), {})[number] = tuple(y[:y_length])
    return answers


def token_weights(tasks: Sequence[Task], spec: ModelSpec) -> Floats:
    """What hints know of every token, `[V]`, from the inputs of training tasks.

    For classes, log (n + 1) / (c + 1) for a token in c of n different inputs. The unknown token has weight 0:
    it may stand for different tokens. For sequences, 1 for tokens that are `alternating`, else 0.
    """
    inputs = {x for task in tasks for x in task.x.tuples()}
    if isinstance(tasks[0].y, Sequences):
        return np.isin(np.arange(spec.vocabulary), [*alternating(sorted(inputs))]).astype(np.float64)
    counts = np.bincount(
        np.array([token for x in inputs for token in set(x)], dtype=np.int64), minlength=spec.vocabulary
    )
    weights = np.log((len(inputs) + 1) / (counts[: spec.vocabulary] + 1))
    weights[spec.named :] = 0.0
    return weights
