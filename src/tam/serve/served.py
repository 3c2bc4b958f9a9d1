"""A served model: its learner, its store, and the thread that answers."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple

from tam.errors import UserError
from tam.learner.inputs import Checked
from tam.learner.learner import Learner
from tam.learner.task_embedding import TaskEmbedding
from tam.pretrained.card import Packed
from tam.serve.batching import Batcher, Request
from tam.serve.limits import Limits
from tam.store.store import OtherModelError, Store, UnknownTaskError, identities_of

_ROWS_TOGETHER = 4096
_CACHED_TRIALS = 64

Observe = Callable[[str, int], None]
"""Called for every batch with what it does, adapt or predict, and its number of rows."""


class Answer(NamedTuple):
    """A possible answer to a row: a label or tokens, and its probability."""

    answer: Any
    probability: float


@dataclass(frozen=True, eq=False)
class AdaptRequest(Request):
    """Learn a task."""

    examples: Sequence[tuple[Any, Any]]
    primitives: Sequence[str]
    searches: int | None


@dataclass(frozen=True, eq=False)
class PredictRequest(Request):
    """Answer rows, each with a stored task, by name, or a task embedding."""

    tasks: Sequence[str | TaskEmbedding]
    inputs: Checked
    answers: int


class Served:
    """A served model, with its stored tasks, and the benchmark and test tasks that came with it, if any.

    From now on only this object's thread may use the learner.
    """

    def __init__(
        self,
        learner: Learner,
        store: Store,
        limits: Limits,
        observe: Observe = lambda *_: None,
        packed: Packed | None = None,
    ) -> None:
        self.learner, self.store, self._observe = learner, store, observe
        self.packed = packed or Packed()
        self.searches = learner.method.searches
        self.weights = set(identities_of(learner))
        self._trials: dict[bytes, TaskEmbedding] = {}
        self._batcher = Batcher(self._do, _ROWS_TOGETHER, limits.max_queue)

    @property
    def queued(self) -> int:
        """Rows and examples waiting."""
        return self._batcher.queued

    def adapt(
        self, examples: Sequence[tuple[Any, Any]], primitives: Sequence[str], searches: int | None = None
    ) -> "Future[TaskEmbedding]":
        """Learn a task, in a batch with other requests; mistakes in the examples are raised immediately.

        A model that learns by several searches uses at most `searches`, if given.
        """
        self.learner.intake.task("the task", examples, primitives)
        return self._batcher.submit(AdaptRequest(len(examples), examples, primitives, searches))

    async def try_out(
        self, examples: Sequence[tuple[Any, Any]], primitives: Sequence[str], searches: int | None
    ) -> TaskEmbedding:
        """Learn a task without storing it; the most recent ones are cached."""
        key = hashlib.sha256(repr((examples, primitives, searches)).encode()).digest()
        rule = self._trials.pop(key, None)
        if rule is None:
            rule = await asyncio.wrap_future(self.adapt(examples, primitives, searches))
        self._trials[key] = rule
        if len(self._trials) > _CACHED_TRIALS:
            del self._trials[next(iter(self._trials))]
        return rule

    def predict(
        self, tasks: Sequence[str | TaskEmbedding], inputs: Sequence[Sequence[Any]], answers: int
    ) -> "Future[list[list[Answer]]]":
        """Answer rows, in a batch with other requests; mistakes in the inputs are raised immediately.

        Each row gets up to `answers` answers, likeliest first.
        """
        return self._batcher.submit(
            PredictRequest(len(inputs), tasks, self.learner.intake.inputs(inputs), answers)
        )

    def warm_up(self) -> None:
        """Learn and answer something, so that the first request does not wait for torch to initialise."""
        spec, token = self.learner.model_.spec, self.learner.vocabulary_.tokens[:1]
        x, y = [*token * spec.max_x], 0 if spec.kind == "classification" else [*token * min(1, spec.max_y)]
        known = self.learner.primitives_
        names = () if known is None else [*list(known)[: spec.slots - 1], "-".join(known) + "-"]
        rule = self.adapt([(x, y)], names).result()
        self.predict([rule], [x], 1).result()

    def close(self) -> None:
        """Finish the waiting requests, and close the store."""
        self._batcher.close()
        self.store.close()

    def _do(self, jobs: Sequence[Request]) -> None:
        """Answer first, which is fast, then learn."""
        self._answer([job for job in jobs if isinstance(job, PredictRequest)])
        together: dict[int, list[AdaptRequest]] = {}
        for job in jobs:
            if isinstance(job, AdaptRequest):
                together.setdefault(min(job.searches or self.searches, self.searches), []).append(job)
        for searches, learning in together.items():
            self._learn(searches, learning)

    def _learn(self, searches: int, jobs: Sequence[AdaptRequest]) -> None:
        self._observe("adapt", sum(job.rows for job in jobs))
        learned = self.learner.adapt_many(
            [job.examples for job in jobs], [job.primitives for job in jobs], searches
        )
        for job, rule in zip(jobs, learned, strict=True):
            job.future.set_result(rule)

    def _answer(self, jobs: Sequence[PredictRequest]) -> None:
        named = [task for job in jobs for task in job.tasks if isinstance(task, str)]
        stored = self.store.embeddings(named) if named else {}
        together: dict[int, list[tuple[PredictRequest, list[TaskEmbedding]]]] = {}
        for job in jobs:
            try:
                rules = [self._rule(task, stored) for task in job.tasks]
            except UserError as error:
                job.future.set_exception(error)
            else:
                beams = job.answers if self.learner.model_.spec.kind == "transduction" else 1
                together.setdefault(beams, []).append((job, rules))
        for beams, members in together.items():
            self._answer_together(members, beams)

    def _rule(self, task: str | TaskEmbedding, stored: dict[str, TaskEmbedding]) -> TaskEmbedding:
        rule = stored.get(task) if isinstance(task, str) else task
        if rule is None:
            raise UnknownTaskError(f"there is no task {task!r}")
        if rule.model not in self.weights:
            raise OtherModelError(
                f"task {task!r} belongs to another model: the store has changed; restart the server with the "
                "model it now belongs to"
            )
        return rule

    def _answer_together(
        self, members: Sequence[tuple[PredictRequest, list[TaskEmbedding]]], beams: int
    ) -> None:
        rules = [rule for _, each in members for rule in each]
        inputs = Checked.joined([job.inputs for job, _ in members])
        self._observe("predict", len(rules))
        probabilities = iter(self.learner.predict_proba(rules, inputs, beams))
        for job, each in members:
            job.future.set_result([_best(next(probabilities), job.answers) for _ in each])


def _best(probabilities: dict[Any, float], count: int) -> list[Answer]:
    """Return the likeliest answers, with sequences as lists instead of tuples."""
    ordered = sorted(probabilities.items(), key=lambda pair: -pair[1])[:count]
    return [Answer(list(answer) if isinstance(answer, tuple) else answer, p) for answer, p in ordered]
