"""Answers and their probabilities."""

from typing import Any

import numpy as np
import pytest

import tam
from tests.learner.small import X


def test_rows_of_different_tasks_in_one_batch(classifier: tam.Learner) -> None:
    rules = classifier.adapt_many([[(X, "a"), ([1] * 5, "b")], [(X, 7), ([1] * 5, 8), ([2] * 5, 9)]])
    inputs = [[i % 12, 1, 2, 3, 4] for i in range(12)]
    mixed = classifier.predict_proba(rules * 6, inputs)
    for rule, x, row in zip(rules * 6, inputs, mixed, strict=True):
        assert row == pytest.approx(classifier.predict_proba(rule, [x])[0], abs=1e-5)


def test_sequences_are_decoded_to_their_end(transducer: tam.Learner) -> None:
    rule = transducer.adapt([(X, [5, 1, 4, 1, 3]), ([1, 2, 3], [3, 2, 1])])
    answers = transducer.predict(rule, [X, [], [1, 2]])
    assert all(isinstance(answer, list) and len(answer) <= 5 for answer in answers)
    (beams,) = transducer.predict_proba(rule, [X], beams=3)
    scores = list(beams.values())
    assert len(beams) == 3
    assert scores == sorted(scores, reverse=True)
    (greedy,) = transducer.predict_proba(rule, [X])
    assert scores[0] >= next(iter(greedy.values())) - 1e-7


def test_any_iterables_will_do(transducer: tam.Learner) -> None:
    learner: Any = transducer
    rule = learner.adapt(pair for pair in [(iter(X), np.array([5, 1]))])
    answers = learner.predict(rule, [X, X])
    assert learner.predict((one for one in (rule, rule)), (iter(x) for x in (X, X))) == answers
    assert learner.predict(rule, np.array([X, X]), beams=np.int64(1)) == answers
    assert learner.adapt_many([]) == learner.predict([], []) == learner.predict(rule, []) == []


def test_wrong_arguments(transducer: tam.Learner) -> None:
    learner: Any = transducer
    rule = learner.adapt([(X, X)])
    for use, about in (
        (lambda: learner.adapt_many(None), "tasks"),
        (lambda: learner.adapt_many([[(X, X)], [(X, [99])]]), "task 1, example 0: y: unknown token 99"),
        (lambda: learner.adapt_many([[(X, X)]], [(), ()]), "primitives"),
        (lambda: learner.predict(rule, [X, X, [99]]), "input 2: unknown token 99"),
        (lambda: learner.predict("rule.json", [X]), "rules .*'rule.json'"),
        (lambda: learner.predict([rule, None], [X, X]), "rules"),
        (lambda: learner.predict([rule], [X, X]), "rules .*1 for 2 inputs"),
        (lambda: learner.predict(rule, [X], 1.5), "beams .*1.5"),
        (lambda: learner.predict_proba(rule, [X], 0), "beams .*0"),
    ):
        with pytest.raises(tam.UserError, match=f"^{about}"):
            use()
