"""The k-shot protocol, the same for every method.

For each k: the number of inner steps and the rate are chosen on the validation tasks, from a stated
grid; then the test tasks are scored with that choice. Every task is learned from several support sets.
Supports are drawn from a seed and the task's name alone, so every method sees the same ones; a support
and its queries never overlap; nothing of the test tasks enters a choice.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tam.config.sections import Protocol
from tam.errors import UserError
from tam.methods import Method, TaskStates
from tam.models import Batch, Model, token_targets
from tam.models.batch import collate
from tam.tasks.draws import Draws
from tam.tasks.task import Classes, Integers, Kind, Sequences, Task
from tam.tasks.unknown import unknown_slot

# Places of sequences that a pass looks at, about. With the paper's network the GPU then takes some 10 GB.
_PLACES_AT_ONCE = {"cpu": 300_000, "cuda": 1_000_000}


class Choice(NamedTuple):
    """How a new task is learned at one k."""

    steps: int
    rate: float


class TaskScore(NamedTuple):
    """How well one task was learned, over all its supports and queries."""

    accuracy: float  # of the class, or of the whole sequence given its own past (exact match)
    perplexity: float  # exp of the mean loss a class, or a token of y without its end


class KShotScore(NamedTuple):
    """The scores of a set of tasks at one k."""

    k: int
    choice: Choice
    tasks: tuple[TaskScore, ...]

    @property
    def accuracy(self) -> float:
        """Mean over the tasks."""
        return float(np.mean([task.accuracy for task in self.tasks]))

    @property
    def perplexity(self) -> float:
        """Mean over the tasks; infinite if one is, or if no number holds it."""
        with np.errstate(over="ignore"):
            return float(np.mean([task.perplexity for task in self.tasks]))

    def interval(self, metric: str) -> float:
        """Half the width of the 95 % interval of the mean over tasks."""
        return interval([getattr(task, metric) for task in self.tasks])


def interval(values: Sequence[float]) -> float:
    """Half the width of the 95 % interval of the mean of these values; NaN where there is none."""
    if len(values) < 2 or not np.isfinite(values).all():
        return math.nan
    with np.errstate(over="ignore"):
        return 1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values))


class Episode(NamedTuple):
    """A task with one of its supports and the queries to it, as rows of the task."""

    task: int
    support: Integers
    query: Integers


def episodes(tasks: Sequence[Task], k: int, protocol: Protocol) -> list[Episode]:
    """The supports and queries of every task at one k, task after task.

    A task's supports at different k are nested, and its queries are the same at every k. Supports come from
    the start of a drawn order and queries from its end, so where a task has examples enough, they are also
    the same whatever other k are asked for.
    """
    return [
        _episode(number, task, k, protocol, draw)
        for number, task in enumerate(tasks)
        for draw in range(protocol.supports)
    ]


def _episode(number: int, task: Task, k: int, protocol: Protocol, draw: int) -> Episode:
    order = Draws("support", protocol.support_seed, task.name, draw).permutation(len(task))
    most = max(*protocol.shots, k)
    groups = [order]
    if isinstance(task.y, Classes):
        groups = [order[task.y.ids[order] == place] for place in range(len(task.y.labels))]
    reserved = np.concatenate([group[:most] for group in groups])
    query = order[~np.isin(order, reserved)][-protocol.queries :]
    support = np.concatenate([group[:k] for group in groups])
    if min(map(len, groups)) < most or not len(query):
        raise _too_few(task, groups, most)
    return Episode(number, support, query)


def _too_few(task: Task, groups: Sequence[Integers], shots: int) -> UserError:
    """That a task has not so many examples of each group for a support, and one to ask."""
    sizes = [len(group) for group in groups]
    least, given, taken = min(sizes), f"{len(task)}", f"{shots}"
    if isinstance(task.y, Classes):
        given += f", {least} of them of class {task.y.labels[sizes.index(least)]!r}"
        taken += " of every class"
    possible = min(least, (len(task) - 1) // len(groups))
    smaller = f", or shots up to {possible}" if possible else ""
    return UserError(
        f"task {task.name!r} has too few examples ({given}) for shots of {shots}: it needs {taken}, and one "
        f"more to ask; give it more examples{smaller}"
    )


def evaluate(
    method: Method,
    models: Mapping[int, Model],
    valid: Sequence[Task],
    test: Sequence[Task],
    protocol: Protocol,
    primitives: Mapping[str, int] | None = None,
) -> list[KShotScore]:
    """Choose on the validation tasks, score the test tasks.

    Args:
        method: How a task is learned.
        models: The network to use at each k; best checkpoints may differ.
        valid: The tasks that steps and rate are chosen on.
        test: The tasks that are scored.
        protocol: The settings.
        primitives: The ids of the primitives that the models know, if they are compositional.
    """
    scores = []
    for k in protocol.shots:
        choice = choose(method, models[k], valid, k, protocol, primitives).choice
        scores.append(score(method, models[k], test, k, choice, protocol, primitives))
    return scores


def choose(
    method: Method,
    model: Model,
    valid: Sequence[Task],
    k: int,
    protocol: Protocol,
    primitives: Mapping[str, int] | None = None,
) -> KShotScore:
    """The choice of steps and rate that does best on these tasks at one k, with its scores."""
    scored = _score_choices(
        method, model, valid, k, protocol.adapt_steps, protocol.adapt_rates, protocol, primitives
    )
    options = [KShotScore(k, choice, scores) for choice, scores in scored.items()]
    return min(options, key=lambda option: quality(option, valid[0].kind))


def quality(score: KShotScore, kind: Kind) -> tuple[float, float]:
    """What choices go by, smaller being better: the kind's headline metric, then the other."""
    if kind == "classification":
        return -score.accuracy, score.perplexity
    return score.perplexity, -score.accuracy


def score(
    method: Method,
    model: Model,
    tasks: Sequence[Task],
    k: int,
    choice: Choice,
    protocol: Protocol,
    primitives: Mapping[str, int] | None = None,
) -> KShotScore:
    """The scores of these tasks at one k, learned as the choice says."""
    scored = _score_choices(method, model, tasks, k, (choice.steps,), (choice.rate,), protocol, primitives)
    return KShotScore(k, choice, scored[choice])


def _score_choices(
    method: Method,
    model: Model,
    tasks: Sequence[Task],
    k: int,
    steps: Sequence[int],
    rates: Sequence[float],
    protocol: Protocol,
    primitives: Mapping[str, int] | None,
) -> dict[Choice, tuple[TaskScore, ...]]:
    """The tasks' scores after each number of steps at each rate; tasks are learned at all rates together.

    All is counted on the model's device, and comes to the host once, at the end.
    """
    if primitives is not None:
        for task in tasks:
            unknown_slot(f"task {task.name!r}", task.primitives, primitives)
    weight = next(model.parameters())
    choices = [Choice(n, rate) for rate in rates for n in steps]
    drawn = episodes(tasks, k, protocol)
    limit, most = _rows_at_once(tasks, weight.device), method.at_once(model)
    counts: list[Tensor] = []
    for some in _chunks(drawn, len(rates) * method.searches, limit, most):
        members = [tasks[episode.task] for episode in some]
        support, query = (
            collate(members, chosen, primitives).to(weight.device)
            for chosen in ([e.support for e in some], [e.query for e in some])
        )
        each = weight.new_tensor(rates).repeat_interleave(len(some))
        found = method.adapt(model, support.repeat(len(rates)), steps, each)
        states = {
            Choice(n, rate): states
            for n, at_all_rates in zip(steps, found, strict=True)
            for rate, states in zip(rates, at_all_rates.split(len(some)), strict=True)
        }
        at_once = min(limit // query.rows, most or limit) // len(some)
        counts.append(_tallies(method, model, [states[choice] for choice in choices], query, at_once))
    sums = np.zeros((len(tasks), len(choices), 4))
    np.add.at(sums, [episode.task for episode in drawn], torch.cat(counts).cpu().numpy())
    scores = [tuple(_task_score(*row) for row in rows) for rows in sums.swapaxes(0, 1).tolist()]
    return dict(zip(choices, scores, strict=True))


@torch.no_grad()
def _tallies(
    method: Method, model: Model, states: Sequence[TaskStates], query: Batch, at_once: int
) -> Tensor:
    """What `tally` says of several states of the same tasks, so many of them at once: `[B, states, 4]`."""
    found: list[Tensor] = []
    at_once = max(1, at_once)
    for start in range(0, len(states), at_once):
        some = states[start : start + at_once]
        asked = query.repeat(len(some))
        found.append(tally(method.outcomes(model, torch.cat(list(some)), asked), asked))
    return torch.cat(found).unflatten(0, (len(states), query.tasks)).transpose(0, 1)


def _rows_at_once(tasks: Sequence[Task], device: torch.device) -> int:
    """How many rows of these tasks a pass looks at, about."""
    longest = max(
        1 + task.x.ids.shape[1] + (task.y.ids.shape[1] if isinstance(task.y, Sequences) else 0)
        for task in tasks
    )
    return max(1, _PLACES_AT_ONCE[device.type] // longest)


def _task_score(right: float, asked: float, loss: float, predictions: float) -> TaskScore:
    mean = loss / predictions if predictions else 0.0
    return TaskScore(right / asked, math.exp(mean) if mean < 700 else math.inf)


def tally(outcomes: Tensor, batch: Batch) -> Tensor:
    """Of each task how many answers are right, how many were asked, their loss, and of how many predictions.

    A sequence is right if greedy decoding gives it: if each of its tokens and its end are the likeliest
    after those before. Its loss is over its tokens alone, without the end.
    """
    if batch.y_length is None:
        right = outcomes.argmax(-1) == batch.y
        total = -outcomes.gather(-1, batch.y.unsqueeze(-1)).squeeze(-1)
        count = torch.ones_like(total)
    else:
        target, scored = token_targets(batch, end=outcomes.shape[-1] - 1)
        right = ((outcomes.argmax(-1) == target) | ~scored).all(-1)
        in_y = scored & (target != outcomes.shape[-1] - 1)
        total = -(outcomes.gather(-1, target.unsqueeze(-1)).squeeze(-1) * in_y).sum(-1)
        count = batch.y_length.to(total.dtype)
    present = torch.ones_like(right) if batch.present is None else batch.present
    columns = (right & present, present, total.masked_fill(~present, 0.0), count * present)
    return torch.stack([column.double().sum(1) for column in columns], dim=1)


def _chunks(items: Sequence[Episode], times: int, rows: int, most: int | None) -> Iterator[list[Episode]]:
    """Episodes in groups that go at once: of about so many rows, or so many, each learned several times."""
    chunk: list[Episode] = []
    size = 0
    for item in items:
        size += times * len(item.support) + len(item.query)
        chunk.append(item)
        if size >= rows or (most is not None and times * (len(chunk) + 1) > most):
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
