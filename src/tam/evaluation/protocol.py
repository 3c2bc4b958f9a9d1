"""The k-shot protocol, the same for every method.

For each k, the number of inner steps and the rate are chosen on the validation tasks from a fixed grid; then
the test tasks are scored with that choice, each from several supports. Supports depend only on a seed and the
task's name, so every method sees the same ones. A support and its queries never overlap.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tam.config.sections import Protocol
from tam.errors import UserError
from tam.methods import Method, TaskStates
from tam.models import Batch, Model, ModelSpec, token_targets
from tam.models.batch import collate
from tam.models.hints import Hints
from tam.tasks.composition import unknown_slot
from tam.tasks.rng import Rng
from tam.tasks.task import Classes, Integers, Kind, Task

_TOKENS_AT_ONCE = {"cpu": 300_000, "cuda": 1_000_000}
"""Approximate number of tokens per pass through the network: 10 GB on a GPU with the paper's network."""
_LONG = 256
"""The length of a sequence from which the memory for pairs of places counts."""


class Choice(NamedTuple):
    """The steps and learning rate for learning a new task at one k."""

    steps: int
    rate: float


class TaskScore(NamedTuple):
    """The score of one task over all its supports and queries."""

    accuracy: float  # of classes, or of whole sequences (exact match)
    perplexity: float  # exp of the mean loss per class, or per token of y without the end token


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
        """Mean over the tasks; infinite if one is infinite or NaN, or if the mean overflows a float."""
        with np.errstate(over="ignore"):
            mean = float(np.mean([task.perplexity for task in self.tasks]))
        return math.inf if math.isnan(mean) else mean

    @property
    def loss(self) -> float:
        """Mean over the tasks of the loss per class, or per token of y without the end token."""
        return float(np.mean([math.log(task.perplexity) for task in self.tasks]))

    @property
    def is_nan(self) -> bool:
        """Whether the loss of every task is NaN: accuracies then mean nothing."""
        return all(math.isnan(task.perplexity) for task in self.tasks)

    def interval(self, metric: str) -> float:
        """Half the width of the mean's 95 % interval over tasks; NaN for one task or infinite scores."""
        return half_interval([getattr(task, metric) for task in self.tasks])


def half_interval(values: Sequence[float]) -> float:
    """Half the width of the 95 % interval of a mean; NaN for one value or infinite ones."""
    if len(values) < 2 or not np.isfinite(values).all():
        return math.nan
    with np.errstate(over="ignore"):
        return 1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values))


class Episode(NamedTuple):
    """One support of a task and its queries, as row numbers of the task."""

    task: int
    support: Integers
    query: Integers


def episodes(tasks: Sequence[Task], k: int, protocol: Protocol) -> list[Episode]:
    """The supports and queries of every task at one k, task by task.

    A task's supports are nested in k, and its queries are the same at every k. Supports come from the start
    of a random order and queries from its end, so with enough examples they do not depend on the other k. A
    task with a fixed support has one episode: the first k of that support, and all its queries.
    """
    drawn: list[Episode] = []
    for number, task in enumerate(tasks):
        if task.support is None:
            drawn += [Episode(number, *_draw(task, k, protocol, draw)) for draw in range(protocol.supports)]
        else:
            drawn.append(Episode(number, *_fixed(task, k, task.support)))
    return drawn


def groups_of(task: Task, rows: Integers) -> list[Integers]:
    """The groups from which a k-shot support takes k rows each: one per class, or all rows for sequences."""
    if not isinstance(task.y, Classes):
        return [rows]
    return [rows[task.y.ids[rows] == place] for place in range(len(task.y.labels))]


def _fixed(task: Task, k: int, support: int) -> tuple[Integers, Integers]:
    """The rows of a fixed support at one k, in the task's order, and the rows of its queries."""
    rows = np.arange(len(task))
    groups = groups_of(task, rows[:support])
    if k > (most := max(map(len, groups))):
        per_class = " of a class" if isinstance(task.y, Classes) else ""
        raise UserError(
            f"task {task.name!r} has a fixed support of {most} examples{per_class}: shots must be at most "
            f"{most}: got {k}"
        )
    return np.sort(np.concatenate([group[:k] for group in groups])), rows[support:]


def _draw(task: Task, k: int, protocol: Protocol, draw: int) -> tuple[Integers, Integers]:
    """The rows of one random support, and of its queries."""
    order = Rng("support", protocol.support_seed, task.name, draw).permutation(len(task))
    largest, groups = max(*protocol.shots, k), groups_of(task, order)
    reserved = np.concatenate([group[:largest] for group in groups])
    query = order[~np.isin(order, reserved)][-protocol.queries :]
    if min(map(len, groups)) < largest or not len(query):
        raise _too_few(task, groups, largest)
    return np.concatenate([group[:k] for group in groups]), query


def _too_few(task: Task, groups: Sequence[Integers], shots: int) -> UserError:
    sizes = [len(group) for group in groups]
    fewest, count, needed = min(sizes), f"{len(task)}", f"{shots}"
    if isinstance(task.y, Classes):
        count += f", {fewest} of them of class {task.y.labels[sizes.index(fewest)]!r}"
        needed += " of every class"
    possible = min(fewest, (len(task) - 1) // len(groups))
    smaller = f", or shots up to {possible}" if possible else ""
    return UserError(
        f"task {task.name!r} has too few examples ({count}) for shots of {shots}: it needs {needed}, and one "
        f"more as a query; give it more examples{smaller}"
    )


def choose(
    method: Method,
    model: Model,
    valid: Sequence[Task],
    k: int,
    protocol: Protocol,
    primitives: Mapping[str, int] | None = None,
) -> KShotScore:
    """Score these tasks at one k with all steps and rates of the protocol; return the best score."""
    scores = _score_grid(method, model, valid, k, protocol, primitives)
    return min(scores, key=lambda one: quality(one, valid[0].kind, model.spec, protocol.choose_by))


def quality(
    score: KShotScore, kind: Kind, spec: ModelSpec | None = None, choose_by: str = "auto"
) -> tuple[float, float]:
    """The sort key of choices, smaller is better: the metric of `Protocol.choose_by`, then the other one.

    By default that is accuracy for classes and, as in the paper, perplexity for sequences; but accuracy for a
    model that starts as a rule, since training must not make it worse than the rule.
    """
    if score.is_nan:
        return math.inf, math.inf
    exact = kind == "classification" or (spec is not None and spec.starts_as_rule)
    if choose_by == "accuracy" or (choose_by == "auto" and exact):
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
    """Score these tasks at one k, with this choice of steps and rate."""
    chosen = replace(protocol, adapt_steps=(choice.steps,), adapt_rates=(choice.rate,))
    (only,) = _score_grid(method, model, tasks, k, chosen, primitives)
    return only


def _score_grid(
    method: Method,
    model: Model,
    tasks: Sequence[Task],
    k: int,
    protocol: Protocol,
    primitives: Mapping[str, int] | None,
) -> list[KShotScore]:
    """Score the tasks for each of the protocol's rates and numbers of steps, in the order of the grid.

    Tasks are adapted at all rates together, and one trajectory serves all numbers of steps. Tallies stay on
    the model's device until the end.
    """
    if primitives is not None:
        for task in tasks:
            unknown_slot(f"task {task.name!r}", task.primitives, primitives)
    steps, rates = protocol.adapt_steps, protocol.adapt_rates
    weight, drawn = next(model.parameters()), episodes(tasks, k, protocol)
    rows, most = rows_at_once(tasks, weight.device, model.spec), method.at_once(model)
    hints, searches = Hints.of_model(model), len(rates) * method.searches
    sizes = [searches * len(episode.support) + len(episode.query) for episode in drawn]
    tallies: list[Tensor] = []
    for places in chunks(sizes, rows, None if most is None else max(1, most // searches)):
        chunk = [drawn[place] for place in places]
        read = (_with_hints(tasks[episode.task], episode, hints) for episode in chunk)
        members, supports, queries = zip(*read, strict=True)
        support, query = (
            _at_device(collate(members, chosen, primitives), weight.device) for chosen in (supports, queries)
        )
        rate = weight.new_tensor(rates).repeat_interleave(len(chunk))
        after_steps = method.adapt(model, support.repeat(len(rates)), steps, rate)
        at_rates = zip(*(states.split(len(chunk)) for states in after_steps), strict=True)
        states = [states for at_rate in at_rates for states in at_rate]
        at_once = min(rows // query.rows, most or rows) // len(chunk)
        tallies.append(_tally_all(method, model, states, query, max(1, at_once)))
    grid = [Choice(n, rate) for rate in rates for n in steps]  # the order of the states
    sums = np.zeros((len(tasks), len(grid), 4))
    np.add.at(sums, [episode.task for episode in drawn], torch.cat(tallies).cpu().numpy())
    return [
        KShotScore(k, choice, tuple(task_score(*row) for row in sums[:, place].tolist()))
        for place, choice in enumerate(grid)
    ]


def _with_hints(task: Task, episode: Episode, hints: Hints | None) -> tuple[Task, Integers, Integers]:
    """An episode's task, with hints if given, and the rows of its support and queries."""
    support, query = episode.support, episode.query
    if hints is None:
        return task, support, query
    hinted = hints.add(task, support, np.concatenate([support, query]))
    support, query = np.split(np.arange(len(hinted)), [len(support)])
    return hinted, support, query


def _at_device(batch: Batch, device: torch.device) -> Batch:
    """Move the batch to the model's device; on a CPU, drop padding that no row needs, which saves time."""
    return batch.trimmed() if device.type == "cpu" else batch.to(device)


def rows_at_once(tasks: Sequence[Task], device: torch.device, spec: ModelSpec) -> int:
    """Approximate number of rows of these tasks per pass through the network."""
    hints = spec.x_places - spec.max_x
    lengths = (1 + hints + sum(part.ids.shape[1] for part in task.sequences) for task in tasks)
    return rows_of_length(max(lengths, default=1), device)


def rows_of_length(length: int, device: torch.device) -> int:
    """Approximate number of sequences of this length per pass through the network."""
    cost = max(1, length) * max(1.0, length / _LONG)
    return max(1, int(_TOKENS_AT_ONCE[device.type] / cost))


def chunks(sizes: Sequence[int], rows: int, most: int | None) -> Iterator[range]:
    """Group neighbours, of `sizes` rows each, into chunks of about `rows` rows and at most `most` members."""
    start = size = 0
    for place, one in enumerate(sizes):
        size += one
        if size >= rows or place + 1 - start == most:
            yield range(start, place + 1)
            start, size = place + 1, 0
    if start < len(sizes):
        yield range(start, len(sizes))


@torch.no_grad()
def _tally_all(
    method: Method, model: Model, states: Sequence[TaskStates], query: Batch, at_once: int
) -> Tensor:
    """`tally` for several states of the same tasks, `at_once` at a time: `[B, states, 4]`."""
    tallies: list[Tensor] = []
    for start in range(0, len(states), at_once):
        chunk = states[start : start + at_once]
        queries = query.repeat(len(chunk))
        tallies.append(tally(method.outcomes(model, torch.cat(list(chunk)), queries), queries, model.spec))
    return torch.cat(tallies).unflatten(0, (len(states), query.tasks)).transpose(0, 1)


def tally(outcomes: Tensor, batch: Batch, spec: ModelSpec) -> Tensor:
    """Per task: correct answers, queries, summed loss, number of predictions, `[B, 4]`.

    A sequence is correct if greedy decoding yields it: each token and the end are the most likely after the
    tokens before. Its loss is over its tokens, without the end.

    A token of y that a model of this spec cannot name is never correct; its loss is the unknown token's,
    which represents all such tokens together.
    """
    if batch.y_length is None:
        right = outcomes.argmax(-1) == batch.y
        loss = -outcomes.gather(-1, batch.y.unsqueeze(-1)).squeeze(-1)
        count = torch.ones_like(loss)
    else:
        end = outcomes.shape[-1] - 1
        target, scored = token_targets(batch, end)
        likeliest = outcomes
        if spec.named < spec.vocabulary:  # not answers, so never predicted
            likeliest = outcomes.clone()
            likeliest[..., spec.named : spec.vocabulary] = -torch.inf
        right = ((likeliest.argmax(-1) == target) | ~scored).all(-1)
        in_y = scored & (target != end)
        loss = -(outcomes.gather(-1, target.unsqueeze(-1)).squeeze(-1) * in_y).sum(-1)
        count = batch.y_length.to(loss.dtype)
    present = torch.ones_like(right) if batch.present is None else batch.present
    columns = (right & present, present, loss.masked_fill(~present, 0.0), count * present)
    return torch.stack([column.double().sum(1) for column in columns], dim=1)


def task_score(right: float, asked: float, loss: float, predictions: float) -> TaskScore:
    """The score of a task, from the sums of `tally`."""
    mean = loss / predictions if predictions else 0.0
    return TaskScore(right / asked, math.inf if mean >= 700 else math.exp(mean))
