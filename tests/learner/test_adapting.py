"""A task is learned from a user's examples, and what cannot be learned says why."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import tam
from tests.learner.small import X, untrained


def test_a_task_is_learned_from_the_users_own_labels(classifier: tam.Learner) -> None:
    rule = classifier.adapt([(X, "odd"), ([2, 2, 2, 2, 2], "even"), ([1, 1, 1, 1, 1], "odd")])
    assert rule.labels == ("even", "odd")
    assert set(classifier.predict(rule, [X, [2, 4, 6, 8, 10]])) <= {"even", "odd"}
    for row in classifier.predict_proba(rule, [X]):
        assert sum(row.values()) == pytest.approx(1.0, abs=1e-5)
        assert set(row) == {"even", "odd"}


def test_the_embedding_fits_the_examples_better_than_a_blank_one(classifier: tam.Learner) -> None:
    examples = [(X, 1), ([2, 2, 2, 2, 2], 0), ([0, 0, 0, 0, 1], 1), ([9, 9, 9, 2, 2], 0)]
    rule = classifier.adapt(examples)
    blank = tam.TaskEmbedding.from_json(rule.to_json() | {"vector": [0.0] * len(rule.vector)})

    def loss(embedding: tam.TaskEmbedding) -> float:
        rows = classifier.predict_proba(embedding, [x for x, _ in examples])
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


def test_a_compositional_task_has_one_unknown_primitive() -> None:
    """Answers follow the known ones by name, and the unknown one by what was learned, whatever its name."""
    tasks = tam.benchmark("transduction", compositional=True, train=300, valid=2, test=2)
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
    with pytest.raises(tam.UserError, match="exactly one"):
        learner.adapt([(X, X)], primitives=["new", "newer", "reverse"])
    with pytest.raises(tam.UserError, match="3 primitives"):
        learner.adapt([(X, X)])


@pytest.mark.parametrize(
    ("primitives", "message"),
    [(["0", "1"], "not 0 of"), (["new"], "2 primitives"), ([], "2 primitives")],
)
def test_a_rule_has_one_unknown_primitive(primitives: list[str], message: str) -> None:
    learner = untrained("tam", primitives=3, slots=2)
    with pytest.raises(tam.UserError, match=f"^task 0: .*{message}"):
        learner.adapt([(X, 0)], primitives)
    rule = learner.adapt([(X, 0)], ["new", "1"])
    with pytest.raises(tam.UserError, match=f"^its task: .*{message}"):
        learner.predict(tam.TaskEmbedding.from_json(rule.to_json() | {"primitives": primitives}), [X])


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([], "pairs"),
        ([([3, 99], 1)], "unknown token 99"),
        ([([1] * 6, 1)], "6 tokens; the model takes up to 5"),
        ([([1], label) for label in range(5)], "5 different labels, but the model knows 4"),
        ([([1], 1.5)], "a label, an integer or a string"),
        ([("12", 1)], "a list of tokens"),
        ([(1, 1)], "a list of tokens"),
        ([[1, 2, 3]], "a pair"),
    ],
)
def test_what_cannot_be_learned_says_why(
    classifier: tam.Learner, examples: list[tuple[object, object]], message: str
) -> None:
    with pytest.raises(tam.UserError, match=message):
        classifier.adapt(examples)  # pyright: ignore[reportArgumentType]
