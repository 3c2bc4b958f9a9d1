"""Small tasks, and learners to learn them."""

import dataclasses
from typing import Any

import numpy as np
import torch

import tam
from tam.evaluation.protocol import Choice
from tam.learner.task_embedding import TaskEmbedding
from tam.models import Model, build_model
from tam.training.saved import Best, Saved

Pairs = list[tuple[list[int], Any]]


def pairs(number: int, k: int = 1) -> Pairs:
    """Examples of a task that differs from the others by its number: k of each of two classes."""
    return [([number % 12, place % 12, label], label) for place in range(k) for label in (0, 1)]


def with_best(learner: tam.Learner, seed: int) -> tam.Learner:
    """The same learner, with weights of their own that validated best at k = 5."""
    best = {5: (Best(1, (0.5, 0.5), Choice(2, 0.1)), _other_weights(learner, seed))}
    return tam.Learner.of(_saved(learner, learner.model_, best))


def another(learner: tam.Learner, seed: int) -> tam.Learner:
    """A learner like this one, with other weights."""
    return tam.Learner.of(_saved(learner, _other_weights(learner, seed), {}))


def _other_weights(learner: tam.Learner, seed: int) -> Model:
    return build_model(learner.model_.spec, torch.Generator().manual_seed(seed))


def _saved(learner: tam.Learner, model: Model, best: dict[int, tuple[Best, Model]]) -> Saved:
    choices = dict(learner.choices_)
    return Saved(learner.config, model, learner.vocabulary_, learner.primitives_, choices, best)


def embedding(vector: Any, weights: str = "weights") -> TaskEmbedding:
    """An embedding of these numbers."""
    return TaskEmbedding(np.asarray(vector, np.float32), (0, 1), weights, 0.25)


def alike(one: TaskEmbedding, other: TaskEmbedding) -> bool:
    """Whether two are equal but for the last digits, which depend on the tasks learned with them."""
    vectors = np.allclose(one.vector, other.vector, atol=1e-5)
    return vectors and dataclasses.replace(one, vector=other.vector) == other


def fill(store: tam.Store, learner: tam.Learner, count: int) -> dict[str, TaskEmbedding]:
    """Learn and store tasks; their embeddings by name."""
    learned = learner.adapt_many([pairs(number) for number in range(count)])
    made = {f"task {number:03}": rule for number, rule in enumerate(learned)}
    for number, (name, rule) in enumerate(made.items()):
        store.put(name, rule, pairs(number))
    return made
