"""The ceiling: how well a learner does that knows the task distribution and reasons exactly.

It holds every task that could be meant, weighs each by how likely the benchmark is to draw it and
by whether it explains the support, and predicts with the weighted vote (the posterior predictive).
"""

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tam.tasks.benchmark import BenchmarkOptions, Progress, choices, family_of, make
from tam.tasks.composition import hold_out, is_new, one_unseen
from tam.tasks.draws import Draws
from tam.tasks.family import Answers, Choices, Family, Pool, pool
from tam.tasks.task import Classes, Integers, Task

SHOTS = (0, 1, 5, 10, 20)

Weights = NDArray[np.float64]


class Candidates(NamedTuple):
    """The tasks that could be meant, with the logarithm of their weights."""

    choices: Choices
    log_weights: Weights


def ceiling(
    options: BenchmarkOptions,
    shots: Sequence[int] = SHOTS,
    supports: int = 4,
    queries: int = 32,
    progress: Progress | None = None,
) -> dict[int, float]:
    """The accuracy (classification) or perplexity of the Bayes-optimal learner, for each k.

    Args:
        options: the benchmark; its test tasks are used.
        shots: the values of k, for classification per class.
        supports: how many support sets are drawn for each task.
        queries: how many queries are asked of each task.
        progress: is told how many tasks are done, of how many.
    """
    family = family_of(options)
    tasks = make(options).test
    scores: list[list[float]] = []
    for task, candidates in zip(tasks, _candidates(family, options), strict=True):
        scores.append(_task_scores(family, task, candidates, shots, supports, queries))
        if progress is not None:
            progress(len(scores), len(tasks))
    means = np.mean(scores, axis=0)
    return dict(zip(shots, means.tolist(), strict=True))


def _candidates(family: Family, options: BenchmarkOptions) -> Iterator[Candidates]:
    """For each test task all tasks that could be meant.

    In the compositional form these are the new ones with its known primitives and an unseen one. Their
    weights are those of the draw, which is from all tasks whose unseen primitive is in the same slot.
    """
    drawn = choices(family, options)
    if options.holdout is None:
        everything = pool(family, [np.arange(len(slot)) for slot in family.slots])
        yield from repeat(_different(everything), len(drawn["test"]))
        return
    parts = hold_out(family, options.seed, options.holdout)
    new = is_new(family, parts)
    pools = [pool(family, allowed, by_targets=True) for allowed in one_unseen(parts, drawn["train"])]
    pools = [_members(every, new[tuple(every.choices.T)]) for every in pools]
    for truth in drawn["test"]:
        slot = next(slot for slot, unseen in enumerate(parts.unseen) if truth[slot] in unseen)
        known = np.delete(np.arange(len(truth)), slot)
        meant = pools[slot].choices[:, known] == np.array(truth)[known]
        yield _different(_members(pools[slot], meant.all(1)))


def _members(every: Pool, which: NDArray[np.bool_]) -> Pool:
    return Pool(every.choices[which], every.functions[which], every.weights[which])


def _different(members: Pool) -> Candidates:
    """Each task once, with the weights of all choices that make it."""
    _, first, inverse = np.unique(members.functions, return_index=True, return_inverse=True)
    weights = np.bincount(inverse.reshape(-1), members.weights)
    return Candidates(members.choices[first], np.log(weights))


def _task_scores(
    family: Family, task: Task, candidates: Candidates, shots: Sequence[int], supports: int, queries: int
) -> list[float]:
    draws = Draws("ceiling", task.name)
    asked, rest = np.split(draws.permutation(len(task)), [queries])
    prior = _score(family, task, candidates, asked) if 0 in shots else 0.0
    some = [k for k in shots if k > 0]
    sums = np.zeros(len(some))
    for _ in range(supports):
        support = _support_order(task, rest[draws.permutation(len(rest))], max(some, default=0))
        sums += _scores(family, task, candidates, some, support, asked)
    found = dict(zip(some, (sums / supports).tolist(), strict=True)) | {0: prior}
    scores = np.array([found[k] for k in shots])
    return (scores if isinstance(task.y, Classes) else np.exp(-scores)).tolist()


def _support_order(task: Task, order: Integers, most: int) -> Integers:
    """Examples such that the first k (of each class, in turn) are a k-shot support."""
    if not isinstance(task.y, Classes):
        return order[:most]
    ids = task.y.ids[order]
    return np.stack([order[ids == c][:most] for c in range(len(task.y.labels))], axis=1).reshape(-1)


def _scores(
    family: Family,
    task: Task,
    candidates: Candidates,
    shots: Sequence[int],
    support: Integers,
    asked: Integers,
) -> list[float]:
    """For each k the mean accuracy or log-likelihood a token."""
    rows_per_shot = len(task.y.labels) if isinstance(task.y, Classes) else 1
    scores: list[float] = []
    seen = 0
    for k in sorted(shots):
        for row in support[seen : k * rows_per_shot]:
            candidates = _condition(family, task, candidates, row)
        seen = k * rows_per_shot
        scores.append(_score(family, task, candidates, asked))
    return [scores[sorted(shots).index(k)] for k in shots]


def _condition(family: Family, task: Task, candidates: Candidates, row: int) -> Candidates:
    """The candidates that give this example's answer, weighed by how likely they are to draw it."""
    answers = family.answers(candidates.choices, task.x.ids[[row]])
    log_weights = candidates.log_weights + answers.log_p[:, 0]
    explains = np.isfinite(log_weights) & _matches(answers, 0, _target(task, row))[:, -1]
    return Candidates(candidates.choices[explains], log_weights[explains])


def _score(family: Family, task: Task, candidates: Candidates, asked: Integers) -> float:
    answers = family.answers(candidates.choices, task.x.ids[asked])
    total = []
    for place, row in enumerate(asked):
        log_weights = candidates.log_weights + answers.log_p[:, place]
        weights = np.exp(log_weights - log_weights.max())
        target = _target(task, row)
        if isinstance(task.y, Classes):
            votes = np.bincount(np.maximum(answers.y[:, place, 0], 0), weights, len(task.y.labels))
            best = np.isclose(votes, votes.max(), rtol=1e-9)
            total.append(best[target[0]] / best.sum())
        else:
            matches = _matches(answers, place, target)[:, : len(target)]
            agreeing = np.concatenate([[weights.sum()], weights @ matches])
            total.append(np.diff(np.log(agreeing)))
    return float(np.mean(np.concatenate([np.atleast_1d(part) for part in total])))


def _target(task: Task, row: int) -> Integers:
    return task.y.ids[[row]] if isinstance(task.y, Classes) else task.y.row(row)


def _matches(answers: Answers, place: int, target: Integers) -> NDArray[np.bool_]:
    """Whether each task's answer begins like the target: [tasks, length], and in the last place ends so."""
    y = answers.y[:, place]
    width = len(target) + 1
    padded = np.full((len(y), width), -1)
    padded[:, : min(width, y.shape[1])] = y[:, :width]
    return np.logical_and.accumulate(padded == np.append(target, -1), axis=1)
