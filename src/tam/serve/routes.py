"""The routes of a server."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Path, Query, Response
from starlette.concurrency import run_in_threadpool

from tam.errors import UserError, printable
from tam.io import finite, json_text
from tam.serve import schema
from tam.serve.limits import Limits
from tam.serve.metrics import Metrics
from tam.serve.problems import RESPONSES
from tam.serve.served import Answer, Served
from tam.store.store import TaskExistsError
from tam.store.stored import StoredTask, checked_name, checked_notes
from tam.tasks.text import tokenizer_named

Named = Annotated[str | None, Query(description="A model of /models; by default the first.")]


@dataclass(frozen=True)
class Serving:
    """The served models by name, with the limits and metrics of the server."""

    models: Mapping[str, Served]
    limits: Limits
    metrics: Metrics

    def find(self, name: str | None) -> Served:
        """Return the model of this name, by default the first."""
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise HTTPException(
                404, printable(f"there is no model {name!r}: the models are {', '.join(self.models)}")
            )
        return self.models[name]

    def check_rows(self, count: int, what: str) -> None:
        """Raise an error if a request has too many rows."""
        if count > self.limits.max_rows:
            raise UserError(f"a request must have at most {self.limits.max_rows} {what}: got {count}")


def routes(models: Mapping[str, Served], limits: Limits, metrics: Metrics) -> APIRouter:
    """The routes that a token protects, if there is one."""
    router, serving = APIRouter(responses=RESPONSES), Serving(models, limits, metrics)
    for part in (_using_models, _stored_tasks, _views):
        router.include_router(part(serving))
    return router


def _using_models(serving: Serving) -> APIRouter:
    """Routes that learn tasks and answer inputs."""
    router = APIRouter()

    @router.get("/models", summary="List the models and what they take")
    def list_models() -> schema.Models:
        return schema.Models(models=[_described(name, served) for name, served in serving.models.items()])

    @router.post("/tasks", status_code=201, summary="Learn a task from examples and store it under a name")
    async def learn(task: Annotated[schema.NewTask, Body()]) -> schema.Stored:
        served = serving.find(task.model)
        name, notes, examples = checked_name(task.name), checked_notes(task.notes), _pairs(task.examples)
        serving.check_rows(len(examples), "examples")
        if not task.replace and await run_in_threadpool(served.store.__contains__, name):
            raise TaskExistsError(f"there is a task {name!r} already: replace it, or choose another name")
        rule = await asyncio.wrap_future(served.adapt(examples, task.primitives, task.searches))
        return _stored(
            await run_in_threadpool(served.store.put, name, rule, examples, notes, replace=task.replace)
        )

    @router.post("/adapt", summary="Learn a task from examples and answer inputs, without storing the task")
    async def try_out(trial: Annotated[schema.Trial, Body()]) -> schema.Learned:
        served, examples, inputs = serving.find(trial.model), _pairs(trial.examples), trial.inputs
        serving.check_rows(len(examples) + len(inputs), "examples and inputs")
        rule = await served.try_out(examples, trial.primitives, trial.searches)
        found = await asyncio.wrap_future(served.predict([rule] * len(inputs), inputs, trial.answers))
        rows = [schema.Answered.model_validate(_answered(row)) for row in found]
        return schema.Learned(loss=finite(rule.loss), embedding=rule.to_json(), rows=rows)

    @router.post("/predict", response_model=schema.Predictions, summary="Answer rows of different tasks")
    async def predict(asked: Annotated[schema.Rows, Body()]) -> Response:
        served = serving.find(asked.model)
        serving.check_rows(len(asked.rows), "rows")
        found = await asyncio.wrap_future(
            served.predict([row.task for row in asked.rows], [row.x for row in asked.rows], asked.answers)
        )
        return Response(json_text({"rows": [_answered(row) for row in found]}), media_type="application/json")

    return router


def _stored_tasks(serving: Serving) -> APIRouter:
    """Routes that read and change the tasks of a store."""
    router = APIRouter()

    @router.get("/tasks", summary="List stored tasks, sorted by name")
    def list_tasks(
        model: Named = None,
        search: Annotated[
            str | None, Query(description="A part of the name, or a pattern with * and ?.")
        ] = None,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
        offset: Annotated[int, Query(ge=0, le=2**62)] = 0,
    ) -> schema.Tasks:
        store = serving.find(model).store
        rows = [
            schema.Listed.model_validate(vars(one) | {"loss": finite(one.loss)})
            for one in store.list(search, limit, offset)
        ]
        return schema.Tasks(tasks=rows, total=len(store))

    @router.get("/tasks/{name:path}", summary="Show a stored task")
    def get_task(name: str, model: Named = None) -> schema.Stored:
        return _stored(serving.find(model).store.get(name))

    @router.patch("/tasks/{name:path}", summary="Rename a task, or replace its notes")
    def change_task(
        name: str, change: Annotated[schema.Change, Body()], model: Named = None
    ) -> schema.Stored:
        store = serving.find(model).store
        new = change.name or name
        if new != name:
            store.rename(name, new)
        if change.notes is not None:
            store.annotate(new, change.notes)
        return _stored(store.get(new))

    @router.delete("/tasks/{name:path}", status_code=204, summary="Remove a task")
    def remove_task(name: str, model: Named = None) -> None:
        serving.find(model).store.remove(name)

    return router


def _views(serving: Serving) -> APIRouter:
    """Routes that compare tasks, show the tasks that came with a model, and return metrics."""
    router = APIRouter()

    @router.get("/nearest", summary="Find the stored tasks most similar to one")
    def nearest(
        task: str, model: Named = None, count: Annotated[int, Query(ge=1, le=1_000)] = 10
    ) -> schema.Neighbours:
        store = serving.find(model).store
        own = store.get(task)
        found = [schema.Neighbour(**one._asdict()) for one in store.nearest(task, count)]
        compared = store.counts().get(own.embedding.model, 1) - 1
        return schema.Neighbours(task=task, nearest=found, compared=compared, total=len(store))

    @router.get("/map", summary="Map the stored tasks into a plane")
    def show_map(model: Named = None, limit: Annotated[int, Query(ge=1, le=10_000)] = 2_000) -> schema.Maps:
        served = serving.find(model)
        ks = served.learner.identities_
        maps = []
        for one in served.store.map(limit):
            places = zip(one.names, one.points.tolist(), strict=True)
            tasks = [schema.Place(name=name, x=x, y=y) for name, (x, y) in places]
            shots = [k for k, weights in ks.items() if weights == one.weights]
            maps.append(schema.Map(weights=one.weights, shots=shots, tasks=tasks, shares=one.shares))
        return schema.Maps(maps=maps)

    @router.get("/hidden/{number}", summary="A test task that came with the model, to be guessed")
    def hidden(number: Annotated[int, Path(ge=0, le=2**62)], model: Named = None) -> schema.Hidden:
        tasks = serving.find(model).packed.tasks
        if number >= len(tasks):
            raise HTTPException(404, f"there is no test task {number}: the model came with {len(tasks)}")
        name, examples = tasks[number]
        return schema.Hidden(name=name, examples=[schema.Example(x=x, y=y) for x, y in examples])

    @router.get("/metrics", response_class=Response, summary="Counts and times for Prometheus")
    def show_metrics() -> Response:
        text = serving.metrics.text(serving.models)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    return router


def _pairs(examples: Sequence[schema.Example]) -> list[tuple[Any, Any]]:
    return [(example.x, example.y) for example in examples]


def _answered(row: Sequence[Answer]) -> dict[str, Any]:
    first, *others = (one._asdict() for one in row)
    return first | {"others": others}


def _stored(task: StoredTask) -> schema.Stored:
    values = task.to_json()
    return schema.Stored(name=values.pop("task"), **values)


def _described(name: str, served: Served) -> schema.ModelOut:
    learner = served.learner
    spec = learner.model_.spec
    return schema.ModelOut(
        name=name,
        kind=spec.kind,
        method=learner.config.method,
        vocabulary=list(learner.vocabulary_.tokens),
        unknown=spec.unknown_tokens or spec.encoder is not None,
        text="tokenizer" if tokenizer_named(learner.text_) else learner.text_,
        max_x=spec.max_x,
        max_y=spec.max_y or 0,
        classes=spec.classes or 0,
        primitives=None if learner.primitives_ is None else list(learner.primitives_),
        shots=sorted(learner.identities_),
        weights={str(k): weights for k, weights in learner.identities_.items()},
        searches=served.searches,
        tasks=len(served.store),
        in_memory=str(served.store.path) == ":memory:",
        benchmark=served.packed.benchmark,
        hidden=len(served.packed.tasks),
    )
