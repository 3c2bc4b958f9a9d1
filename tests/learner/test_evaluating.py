"""A learner is scored on test tasks at any k."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tam
from tam.tasks.task import Sequences
from tam.tasks.vocabulary import Vocabulary
from tests.learner.small import small_benchmark


def test_evaluate_uses_the_choice_made_on_validation_tasks(classifier: tam.Learner) -> None:
    tasks = small_benchmark("classification")
    scores = classifier.evaluate(tasks.test, shots=(1, 5))
    assert [score.k for score in scores] == [1, 5]
    assert [score.choice for score in scores] == [classifier.choices_[1], classifier.choices_[5]]
    assert all(0 <= score.accuracy <= 1 and score.perplexity >= 1 for score in scores)


def test_one_of_several_test_splits(classifier: tam.Learner) -> None:
    tasks = small_benchmark("classification")
    easy, hard = tasks.test
    splits = {"train": tasks.train, "valid": tasks.valid, "test_easy": (easy,), "test_hard": (hard,)}
    several = replace(tasks, splits=splits)
    (whole,) = classifier.evaluate(several.test, [1])
    parts = [classifier.evaluate(several.splits[name], [1])[0] for name in ("test_easy", "test_hard")]
    apart = [*parts[0].tasks, *parts[1].tasks]
    np.testing.assert_allclose(whole.tasks, apart, rtol=1e-5)


def test_evaluate_takes_tasks_in_other_ids(classifier: tam.Learner) -> None:
    """The same tasks, with the tokens in another order and more of them, have the same scores."""
    test = small_benchmark("classification").test
    other = Vocabulary(["more", *reversed(test[0].vocabulary.tokens)])
    turned = [replace(task, vocabulary=other, x=Sequences(12 - task.x.ids, task.x.lengths)) for task in test]
    assert [list(task) for task in turned] == [list(task) for task in test]
    assert classifier.evaluate(turned, np.array([1])) == classifier.evaluate(test, [1])


@pytest.mark.parametrize("shots", [5, [], [1.5], [0]])
def test_shots_are_values_of_k(classifier: tam.Learner, shots: Any) -> None:
    with pytest.raises(tam.UserError, match=r"^shots "):
        classifier.evaluate(small_benchmark("classification").test, shots)
