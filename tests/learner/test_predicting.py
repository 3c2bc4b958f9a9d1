"""Answers and their probabilities, and errors that say what is wrong with the question."""

from typing import Any

import numpy as np
import pytest

import tam
from tests.learner.small import X


def test_rows_of_different_tasks_in_one_batch(classifier: tam.Learner) -> None:
    rules = classifier.adapt_many([[(X, "a"), ([1] * 5, "b")], [(X, 7), ([1] * 5, 8), ([2] * 5, 9)]])
    inputs = [[i % 12, 1, 2, 3, 4] for i in range(12)]
    mixed = classifier.predict_proba([rules[i % 2] for i in range(12)], inputs)
    for i, row in enumerate(mixed):
        (alone,) = classifier.predict_proba(rules[i % 2], [inputs[i]])
        assert row == pytest.approx(alone, abs=1e-5)


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


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1] * 6, "6 tokens; the model takes up to 5"),
        ([1, 99], "unknown token 99: not one of the 12 tokens"),
        ("12", "expected a list of tokens, not '12'"),
    ],
)
def test_an_error_says_which_row_is_wrong(classifier: tam.Learner, row: Any, message: str) -> None:
    rule = classifier.adapt([(X, 0), ([1] * 5, 1)])
    with pytest.raises(tam.UserError, match=f"^input 2: {message}"):
        classifier.predict(rule, [X, X, row])
    with pytest.raises(tam.UserError, match=f"^task 1, example 3: x: {message}"):
        classifier.adapt_many([[(X, 0)], [(X, 0), (X, 1), (X, 1), (row, 0)]])


def test_options_without_effect_are_errors(classifier: tam.Learner) -> None:
    rule = classifier.adapt([(X, 3)])
    given: Any
    for given in (0, 2, 7, 1.5, "1", None):
        for ask in (classifier.predict, classifier.predict_proba):
            with pytest.raises(tam.UserError, match=f"beams has no effect on classification.*{given!r}"):
                ask(rule, [X], beams=given)
    with pytest.raises(tam.UserError, match="2 inputs but 1 task embeddings"):
        classifier.predict([rule], [X, X])
    with pytest.raises(tam.UserError, match="did you mean 'steps'"):
        tam.Learner(step=3)


def test_what_is_no_list_says_so(transducer: tam.Learner) -> None:
    learner: Any = transducer
    rule = learner.adapt(pair for pair in [(iter(X), np.array([5, 1]))])
    answers = learner.predict(rule, [X, X])
    assert learner.predict((one for one in (rule, rule)), (iter(x) for x in (X, X))) == answers
    assert learner.predict(rule, np.array([X, X]), beams=np.int64(1)) == answers
    assert learner.adapt_many([]) == learner.predict([], []) == learner.predict(rule, []) == []
    for use, message in (
        (lambda: learner.adapt(None), "^task 0: expected pairs of an input and its answer, not None"),
        (lambda: learner.adapt_many(None), "^expected a list with the examples of each task, not None"),
        (lambda: learner.adapt_many([None]), "^task 0: expected pairs"),
        (lambda: learner.adapt_many([[(X, X)]], [(), ()]), "^1 tasks have as many lists of primitives"),
        (lambda: learner.adapt_many([[(X, X)]], 3), "^1 tasks have as many lists of primitives, not 3"),
        (lambda: learner.predict(rule, None), "^inputs must be a list"),
        (lambda: learner.predict(None, [X]), "^expected a task embedding, .* or a list of them, not None"),
        (lambda: learner.predict("rule.json", [X]), "^expected a task embedding, .*, not 'rule.json'"),
        (lambda: learner.predict([rule, None], [X, X]), "^expected a task embedding"),
        (lambda: learner.predict(rule, [X], 1.5), "^beams is an integer from 1 to 1000, not 1.5"),
        (lambda: learner.predict_proba(rule, [X], "2"), "^beams is an integer from 1 to 1000, not '2'"),
        (lambda: learner.predict_proba(rule, [X], 0), "^beams is an integer from 1 to 1000, not 0"),
        (lambda: learner.predict_proba(rule, [X], 10**30), r"^beams is an integer from 1 to 1000, not 1000"),
        (lambda: learner.predict_proba(rule, [X], 1001), "^beams is an integer from 1 to 1000, not 1001"),
        (lambda: learner.predict_proba(rule, [X], True), "^beams is an integer from 1 to 1000, not True"),
    ):
        with pytest.raises(tam.UserError, match=message):
            use()
