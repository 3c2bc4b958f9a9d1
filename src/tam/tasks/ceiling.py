"""The ceiling: the score of a learner that knows the task distribution and reasons exactly.

It considers every possible task, weights each by the benchmark's probability of drawing it and by
whether it explains the support, and predicts with the posterior predictive distribution.
"""

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tam.tasks.benchmark import BenchmarkOptions, Progress, draw_recipes, family_of, make
from tam.tasks.composition import hold_out, is_new, one_unseen
from tam.tasks.family import Answers, Family, Pool, Recipes, pool
from tam.tasks.rng import Rng
from tam.tasks.task import Classes, Integers, Task

CEILING_SHOTS = (0, 1, 5, 10, 20)


class Candidates(NamedTuple):
    """The possible tasks, with the logarithms of their weights."""

    recipes: Recipes
    log_weights: NDArray[np.float64]


def ceiling(
    options: BenchmarkOptions,
    shots: Sequence[int] = CEILING_SHOTS,
    supports: int = 4,
    queries: int = 32,
    progress: Progress | None = None,
) -> dict[int, float]:
    """The accuracy (classification) or perplexity of the Bayes-optimal learner at each k, on test tasks."""
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
    """Yield all possible tasks for each test task.

    In the compositional form, these are the new tasks with its known primitives and an unseen one. They are
    weighted as in the draw from all tasks whose unseen primitive is in the same slot.
    """
    drawn = draw_recipes(family, options)
    if options.holdout is None:
        everything = pool(family, [np.arange(len(slot)) for slot in family.slots])
        yield from repeat(_merge(everything), len(drawn["test"]))
        return
    parts = hold_out(family, options.seed, options.holdout)
    new = is_new(family, parts)
    pools = [pool(family, allowed, by_targets=True) for allowed in one_unseen(parts, drawn["train"])]
    pools = [_select(each, new[tuple(each.recipes.T)]) for each in pools]
    for truth in drawn["test"]:
        slot = next(slot for slot, unseen in enumerate(parts.unseen) if truth[slot] in unseen)
        known = np.delete(np.arange(len(truth)), slot)
        possible = pools[slot].recipes[:, known] == np.array(truth)[known]
        yield _merge(_select(pools[slot], possible.all(1)))


def _select(source: Pool, which: NDArray[np.bool_]) -> Pool:
    return Pool(source.recipes[which], source.functions[which], source.weights[which])


def _merge(source: Pool) -> Candidates:
    """Each task once, with the total weight of its recipes."""
    _, first, inverse = np.unique(source.functions, return_index=True, return_inverse=True)
    weights = np.bincount(inverse.reshape(-1), source.weights)
    return Candidates(source.recipes[first], np.log(weights))


def _task_scores(
    family: Family, task: Task, candidates: Candidates, shots: Sequence[int], supports: int, queries: int
) -> list[float]:
    """For each k, the mean accuracy or the perplexity."""
    rng = Rng("ceiling", task.name)
    asked, rest = np.split(rng.permutation(len(task)), [queries])
    rows_per_shot = len(task.y.labels) if isinstance(task.y, Classes) else 1
    totals = dict.fromkeys((k for k in sorted(shots) if k > 0), 0.0)
    for _ in range(supports):
        support = _support_order(task, rest[rng.permutation(len(rest))], max(totals, default=0))
        posterior, seen = candidates, 0
        for k in totals:
            for row in support[seen : k * rows_per_shot]:
                posterior = _condition(family, task, posterior, row)
            seen = k * rows_per_shot
            totals[k] += _score(family, task, posterior, asked)
    means = {k: total / supports for k, total in totals.items()}
    if 0 in shots:
        means[0] = _score(family, task, candidates, asked)
    scores = np.array([means[k] for k in shots])
    return (scores if isinstance(task.y, Classes) else np.exp(-scores)).tolist()


def _support_order(task: Task, order: Integers, most: int) -> Integers:
    """Order examples so that the first k (of each class, in turn) are a k-shot support."""
    if not isinstance(task.y, Classes):
        return order[:most]
    ids = task.y.ids[order]
    return np.stack([order[ids == c][:most] for c in range(len(task.y.labels))], axis=1).reshape(-1)


def _condition(family: Family, task: Task, candidates: Candidates, row: int) -> Candidates:
    """Bayes' rule for one example: keep the candidates that give its answer."""
    answers = family.answers(candidates.recipes, task.x.ids[[row]])
    log_weights = candidates.log_weights + answers.log_p[:, 0]
    explains = np.isfinite(log_weights) & _matches(answers, 0, _target(task, row))[:, -1]
    return Candidates(candidates.recipes[explains], log_weights[explains])


def _score(family: Family, task: Task, candidates: Candidates, asked: Integers) -> float:
    """The mean accuracy, or the mean log-likelihood per token."""
    answers = family.answers(candidates.recipes, task.x.ids[asked])
    scores: list[NDArray[np.float64]] = []
    for place, row in enumerate(asked):
        log_weights = candidates.log_weights + answers.log_p[:, place]
        weights = np.exp(log_weights - log_weights.max())
        target = _target(task, row)
        if isinstance(task.y, Classes):
            votes = np.bincount(np.maximum(answers.y[:, place, 0], 0), weights, len(task.y.labels))
            best = np.isclose(votes, votes.max(), rtol=1e-9)
            scores.append(best[target] / best.sum())
        else:
            matches = _matches(answers, place, target)[:, : len(target)]
            agreeing = np.concatenate([[weights.sum()], weights @ matches])
            scores.append(np.diff(np.log(agreeing)))
    return float(np.mean(np.concatenate(scores)))


def _target(task: Task, row: int) -> Integers:
    return task.y.ids[[row]] if isinstance(task.y, Classes) else task.y.row(row)


def _matches(answers: Answers, place: int, target: Integers) -> NDArray[np.bool_]:
    """Whether answers agree with the target up to each token and, last, to the end: [tasks, length + 1]."""
    y = answers.y[:, place]
    width = len(target) + 1
    padded = np.full((len(y), width), -1)
    padded[:, : min(width, y.shape[1])] = y[:, :width]
    return np.logical_and.accumulate(padded == np.append(target, -1), axis=1)
