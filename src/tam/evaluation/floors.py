"""Floors: simple rules that need only a task's support, no training; a model must beat them to be worth it.

Every floor assigns each query a distribution over answers; tied answers share the probability. As in the
method `nearest`, half of the probability is spread over all answers, so that perplexities are finite;
accuracies do not depend on that.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tam.config.sections import Protocol
from tam.evaluation.protocol import Choice, Episode, KShotScore, episodes, task_score
from tam.tasks.edits import EditRule, Pair, Row
from tam.tasks.task import Classes, Floats, Sequences, Task

SMOOTHING = 0.5
"""The share of the probability spread evenly over all answers: the default of the method `nearest`."""


def floors(tasks: Sequence[Task], protocol: Protocol) -> dict[str, list[KShotScore]]:
    """The scores of every floor at each k, on the same supports and queries as any method's."""
    of_kind = CLASSIFICATION if isinstance(tasks[0].y, Classes) else TRANSDUCTION
    scores: dict[str, list[KShotScore]] = {name: [] for name in of_kind}
    for k in protocol.shots:
        sums = {name: np.zeros((len(tasks), 4)) for name in of_kind}
        for episode in episodes(tasks, k, protocol):
            for name, floor in of_kind.items():
                sums[name][episode.task] += floor(tasks[episode.task], episode)
        for name, rows in sums.items():
            per_task = tuple(task_score(*row) for row in rows.tolist())
            scores[name].append(KShotScore(k, Choice(0, 0.0), per_task))
    return scores


Floor = Callable[[Task, Episode], tuple[float, float, float, float]]
"""Correct answers, queries, summed loss and number of predictions, as `protocol.tally` counts them."""


def _classes(answer: Callable[[Task, Episode], Floats]) -> Floor:
    """A floor from the probabilities that `answer` returns, `[queries, classes]`, which sum to 1."""

    def count(task: Task, episode: Episode) -> tuple[float, float, float, float]:
        assert isinstance(task.y, Classes)
        target = task.y.ids[episode.query]
        share = answer(task, episode)
        right = share.argmax(1) == target
        classes = len(task.y.labels)
        uniform = SMOOTHING / classes
        of_target = (1 - SMOOTHING) * share[np.arange(len(target)), target] + uniform
        return float(right.sum()), len(target), float(-np.log(of_target).sum()), len(target)

    return count


def _guess(task: Task, episode: Episode) -> tuple[float, float, float, float]:
    """A uniform guess among the task's labels."""
    assert isinstance(task.y, Classes)
    queries, classes = len(episode.query), len(task.y.labels)
    return queries / classes, queries, queries * math.log(classes), queries


def _nearest(task: Task, episode: Episode) -> Floats:
    """Weights, summing to 1, on the support examples that share the most places with each query."""
    ids = np.where(np.arange(task.x.ids.shape[1]) < task.x.lengths[:, None], task.x.ids.astype(np.int64), -1)
    gap = (ids[episode.query][:, None] != ids[episode.support][None]).sum(-1)
    return _shared(-gap)


def _overlap(task: Task, episode: Episode) -> Floats:
    """Weights on the support examples that share the most tokens with each query: cosine of token sets."""
    bags = _bags(task)
    query, support = bags[episode.query], bags[episode.support]
    both = query.astype(np.float32) @ support.T.astype(np.float32)
    sizes = np.sqrt(np.maximum(query.sum(1), 1)[:, None] * np.maximum(support.sum(1), 1)[None])
    return _shared(np.round(both / sizes, 6))


def _shared(similarity: NDArray[Any]) -> Floats:
    chosen = similarity == similarity.max(1, keepdims=True)
    return chosen / chosen.sum(1, keepdims=True)


def _bayes(task: Task, episode: Episode) -> Floats:
    """Naive Bayes on the tokens that occur, with add-one smoothing."""
    assert isinstance(task.y, Classes)
    bags, labels = _bags(task), task.y.ids[episode.support]
    of_class = labels[:, None] == np.arange(len(task.y.labels))  # [support, classes]
    counts = of_class.T.astype(float) @ bags[episode.support] + 1
    log_probs = np.log(counts / counts.sum(1, keepdims=True))
    scores = bags[episode.query].astype(float) @ log_probs.T + np.log(of_class.sum(0) + 1)
    scores = np.exp(scores - scores.max(1, keepdims=True))
    return scores / scores.sum(1, keepdims=True)


@lru_cache(maxsize=8)
def _bags(task: Task) -> NDArray[np.bool_]:
    """Mark the task's tokens that occur in each input: `[rows, tokens]`."""
    return task.x.token_sets()[1]


def _of_neighbours(weights: Callable[[Task, Episode], Floats]) -> Callable[[Task, Episode], Floats]:
    """Class probabilities from weights on the support examples."""

    def answer(task: Task, episode: Episode) -> Floats:
        assert isinstance(task.y, Classes)
        labels = task.y.ids[episode.support]
        return weights(task, episode) @ (labels[:, None] == np.arange(len(task.y.labels)))

    return answer


CLASSIFICATION: dict[str, Floor] = {
    "chance": _guess,
    "nearest neighbour": _classes(_of_neighbours(_nearest)),
    "most tokens in common": _classes(_of_neighbours(_overlap)),
    "naive Bayes": _classes(_bayes),
}
"""The floors of classification."""


def _sequences(answer: Callable[[Task, Episode], list[dict[Row, float]]]) -> Floor:
    """A floor from weighted answers to each query, which imply a distribution at each place of an answer."""

    def count(task: Task, episode: Episode) -> tuple[float, float, float, float]:
        uniform = SMOOTHING / (len(task.vocabulary) + 1)
        right = predictions = 0
        loss = 0.0
        for number, answers in zip(episode.query.tolist(), answer(task, episode), strict=True):
            target = _rows_of(task)[number][1]
            right += _greedy(answers, len(target)) == target
            predictions += len(target)
            for place, token in enumerate(target):
                share = sum(w for y, w in answers.items() if place < len(y) and y[place] == token)
                loss -= math.log((1 - SMOOTHING) * share + uniform)
        return float(right), len(episode.query), loss, predictions

    return count


def _greedy(answers: Mapping[Row, float], length: int) -> Row | None:
    """The most likely token at every place, ties to the smallest; None unless the answer has this length."""
    if len(answers) == 1:
        return next(iter(answers))
    tokens: list[int] = []
    for place in range(length + 1):
        shares: dict[float, float] = {}
        for y, weight in answers.items():
            token = y[place] if place < len(y) else math.inf  # the end is the last id
            shares[token] = shares.get(token, 0.0) + weight
        token = min(shares, key=lambda one: (-round(shares[one], 9), one))
        if token == math.inf:
            return tuple(tokens) if place == length else None
        tokens.append(int(token))
    return None


@lru_cache(maxsize=8)
def _rows_of(task: Task) -> list[Pair]:
    return task.pairs()


def _any_token(task: Task, episode: Episode) -> tuple[float, float, float, float]:
    """Uniform tokens, the end included: a whole answer is right with probability (V + 1)^−(length + 1)."""
    assert isinstance(task.y, Sequences)
    lengths = task.y.lengths[episode.query].astype(float)
    tokens = len(task.vocabulary) + 1
    right = float((float(tokens) ** -(lengths + 1)).sum())
    return right, len(lengths), float(lengths.sum()) * math.log(tokens), float(lengths.sum())


def _commonest(task: Task, episode: Episode) -> list[dict[Row, float]]:
    """The most frequent answers in the support."""
    counts = Counter(_rows_of(task)[number][1] for number in episode.support.tolist())
    most = max(counts.values())
    tied = [y for y, count in counts.items() if count == most]
    return [{y: 1 / len(tied) for y in tied}] * len(episode.query)


def _copy(task: Task, episode: Episode) -> list[dict[Row, float]]:
    """The input itself."""
    return [{_rows_of(task)[number][0]: 1.0} for number in episode.query.tolist()]


def _nearest_answer(task: Task, episode: Episode) -> list[dict[Row, float]]:
    """The answers of the nearest inputs."""
    support = [_rows_of(task)[number][1] for number in episode.support.tolist()]
    weighted: list[dict[Row, float]] = []
    for weights in _nearest(task, episode).tolist():
        answers: dict[Row, float] = {}
        for y, weight in zip(support, weights, strict=True):
            if weight:
                answers[y] = answers.get(y, 0.0) + weight
        weighted.append(answers)
    return weighted


def _edit(task: Task, episode: Episode) -> list[dict[Row, float]]:
    """The most frequent edit of the examples that end most like the input; the input itself if none fits."""
    queries = episode.query.tolist()
    edited = EditRule(_rows_of(task)).answers(episode.support.tolist(), queries, most=1)
    return [
        {answers[0] if answers else _rows_of(task)[number][0]: 1.0}
        for number, answers in zip(queries, edited, strict=True)
    ]


TRANSDUCTION: dict[str, Floor] = {
    "chance": _any_token,
    "commonest answer": _sequences(_commonest),
    "copy": _sequences(_copy),
    "nearest neighbour": _sequences(_nearest_answer),
    "commonest edit": _sequences(_edit),
}
"""The floors of transduction."""
