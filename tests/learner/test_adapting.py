"""A task is learned from a user's examples."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import tam
from tests.learner.small import X, untrained


@pytest.mark.slow
def test_the_embedding_fits_the_examples_better_than_a_blank_one(classifier: tam.Learner) -> None:
    examples = [(X, "odd"), ([2] * 5, "even"), ([0, 0, 0, 0, 1], "odd"), ([9, 9, 9, 2, 2], "even")]
    rule = classifier.adapt(examples)
    assert rule.labels == ("even", "odd")
    blank = tam.TaskEmbedding.from_json(rule.to_json() | {"vector": [0.0] * len(rule.vector)})

    def loss(embedding: tam.TaskEmbedding) -> float:
        rows = classifier.predict_proba(embedding, [x for x, _ in examples])
        assert [sum(row.values()) for row in rows] == pytest.approx([1.0] * 4, abs=1e-5)
        return -float(np.mean([math.log(row[y]) for row, (_, y) in zip(rows, examples, strict=True)]))

    assert loss(rule) == pytest.approx(rule.loss, abs=1e-5)
    assert loss(rule) < loss(blank)


def test_adapting_is_deterministic_and_leaves_the_network_alone(classifier: tam.Learner) -> None:
    before = {name: p.clone() for name, p in classifier.model_.named_parameters()}
    rule, again = (classifier.adapt([(X, 1), ([2, 2, 2, 2, 2], 0)]) for _ in range(2))
    assert np.linalg.norm(rule.vector) > 0
    assert again == rule
    for name, parameter in classifier.model_.named_parameters():
        assert torch.equal(parameter, before[name]), name


def test_one_example_and_a_thousand(classifier: tam.Learner) -> None:
    assert classifier.predict(classifier.adapt([(X, 3)]), [X]) == [3]
    many = [([i % 12, i // 12 % 12, 0, 1, 2], i % 4) for i in range(1000)]
    answers = classifier.predict(classifier.adapt(many), [X] * 50)
    assert len(answers) == 50
    assert set(answers) <= set(range(4))


def test_tasks_learned_together_equal_tasks_learned_alone(classifier: tam.Learner) -> None:
    tasks = [[(X, 0), ([1] * 5, 1)], [(X, 1), ([1] * 5, 0), ([2] * 5, 0), ([3] * 5, 1)]]
    together = classifier.adapt_many(tasks)
    for rule, examples in zip(together, tasks, strict=True):
        assert np.allclose(rule.vector, classifier.adapt(examples).vector, atol=1e-5)


@pytest.mark.parametrize("method", ["snail", "matching", "nearest"])
def test_rules_are_the_same_whatever_they_are_learned_beside(method: str) -> None:
    learner = untrained(method)
    shots = learner.config.protocol.shots[0]
    few: list[Any] = [([1] * 5, 0), ([2], 1)] * shots
    many: list[Any] = [*few, *[([3, 4], 2), ([5], 3)] * shots]
    assert learner.adapt_many([few, many]) == [learner.adapt(few), learner.adapt(many)]


@pytest.mark.slow
def test_a_compositional_task_has_one_unknown_primitive() -> None:
    """Answers follow the known ones by name, and the unknown one by what was learned, whatever its name."""
    tasks = tam.benchmark("transduction", compositional=True, train=60, valid=2, test=2)
    learner = tam.Learner(preset="smoke").fit(tasks)
    names = ["mul 1", "something new", "reverse"]
    rule = learner.adapt([(X, X)], primitives=names)
    assert rule.primitives == tuple(names)
    assert learner.adapt([(X, X)], np.array(names)) == rule

    def answers(place: int, name: str) -> Any:
        changed = {"primitives": [*names[:place], name, *names[place + 1 :]]}
        return learner.predict_proba(tam.TaskEmbedding.from_json(rule.to_json() | changed), [X], beams=3)

    assert answers(1, "something newer") == learner.predict_proba(rule, [X], beams=3)
    assert answers(0, "mul 3") != learner.predict_proba(rule, [X], beams=3)
    with pytest.raises(tam.UserError, match=r"^task 0: .*primitives"):
        learner.adapt([(X, X)])
    with pytest.raises(tam.UserError, match=r"^its task: .*exactly one"):
        answers(1, "mul 3")
