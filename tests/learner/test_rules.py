"""Task embeddings that learners make: plain values, taken by the model that made them and by no other."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tam
from tam.methods import METHODS
from tests.learner.small import X, small_benchmark, untrained


def test_rules_are_plain_values(classifier: tam.Learner, transducer: tam.Learner) -> None:
    one = classifier.adapt([(X, 0), ([1] * 5, 1)])
    two = classifier.adapt([(X, 0), ([2] * 5, 1)])
    mean = tam.TaskEmbedding.mean([one, two])
    assert np.allclose(mean.vector, (one.vector + two.vector) / 2, atol=1e-6)
    assert one.similarity(one) == pytest.approx(1.0, abs=1e-5)
    assert classifier.predict(mean, [X])[0] in (0, 1)
    other = transducer.adapt([(X, X)])
    with pytest.raises(tam.UserError, match="different models"):
        one.similarity(other)
    with pytest.raises(tam.UserError, match="belongs to the model"):
        transducer.predict(one, [X])


@pytest.mark.parametrize("method", ["snail", "matching", "nearest"])
def test_rules_that_are_examples_have_no_mean_and_no_similarity(method: str, tmp_path: Path) -> None:
    tasks = small_benchmark("classification")
    shots = {} if method == "nearest" else {"shots": (1,), "rows": 32}
    learner = tam.Learner(method, preset="smoke", **shots).fit(tasks)
    rule = learner.adapt([(X, 0), ([1] * 5, 1)])
    rule.save(tmp_path / "rule.json")
    for one in (rule, tam.TaskEmbedding.load(tmp_path / "rule.json")):
        assert one == rule
        assert learner.predict(one, [X]) == learner.predict(rule, [X])
        with pytest.raises(tam.UserError, match="hold the examples themselves"):
            tam.TaskEmbedding.mean([one])
        with pytest.raises(tam.UserError, match="hold the examples themselves"):
            one.similarity(rule)


def test_rules_of_older_files_are_read(classifier: tam.Learner) -> None:
    rule = classifier.adapt([(X, 0), ([1] * 5, 1)])
    values = rule.to_json()
    assert values.pop("is_support") is False
    assert tam.TaskEmbedding.from_json(values) == rule
    with pytest.raises(tam.UserError, match="is_support is true or false"):
        tam.TaskEmbedding.from_json(values | {"is_support": "no"})


FOREIGN: list[tuple[str, dict[str, Any], str]] = [
    ("tam", {"model": "another"}, "belongs to the model that it was fitted with"),
    ("tam", {"vector": [1.0] * 3}, "the vector has 8 numbers in this model, not 3"),
    ("tam", {"vector": []}, "the vector has 8 numbers in this model, not 0"),
    ("tam", {"labels": []}, "a task has 1 to 4 labels in this model, not 0"),
    ("tam", {"labels": list("abcde")}, "a task has 1 to 4 labels in this model, not 5"),
    ("tam", {"is_support": True}, "is_support is false for this model"),
    ("tam", {"primitives": ["a"]}, "its task: the model takes no primitives"),
    ("maml", {"vector": [1.0] * 3}, "the vector has .* numbers in this model, not 3"),
    ("prototypical", {"vector": [1.0] * 31}, "the vector has 32 numbers in this model, not 31"),
    ("snail", {"is_support": False}, "is_support is true for this model"),
    ("nearest", {"vector": []}, "the vector has 8 numbers an example in this model, not 0"),
    ("snail", {"vector": [1.0] * 9}, "the vector has 8 numbers an example in this model, not 9"),
    ("snail", {"vector": [1.0, 5, 0, 0, 0, 0, 12, 0]}, "the vector holds numbers that are no examples"),
    ("snail", {"vector": [1.0, 5, 0, 0, 0, 0, -1, 0]}, "the vector holds numbers that are no examples"),
    ("snail", {"vector": [1.0, 5, 0, 0, 0, 0, 0.5, 0]}, "the vector holds numbers that are no examples"),
    ("snail", {"vector": [1.0, 6, 0, 0, 0, 0, 0, 0]}, "the vector holds numbers that are no examples"),
    ("snail", {"vector": [1.0, 5, 0, 0, 0, 0, 0, 2]}, "the vector holds numbers that are no examples"),
    ("nearest", {"vector": [0.0] * 8}, "the vector holds numbers that are no examples"),
]


@pytest.mark.parametrize(("method", "change", "message"), FOREIGN)
def test_a_rule_that_the_model_did_not_make(method: str, change: dict[str, Any], message: str) -> None:
    learner = untrained(method)
    shots = learner.config.protocol.shots[0]
    rule = learner.adapt([([1] * 5, 0), ([2] * 5, 1)] * shots)
    assert learner.predict(rule, [X])
    changed = tam.TaskEmbedding.from_json(rule.to_json() | change)
    with pytest.raises(tam.UserError, match=f"^(a task embedding )?{message}"):
        learner.predict(changed, [X])
    with pytest.raises(tam.UserError, match=f"^task embedding 1: (a task embedding )?{message}"):
        learner.predict([rule, changed], [X, X])


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("kind", ["classification", "transduction"])
def test_every_method_takes_its_own_rules(method: str, kind: str) -> None:
    """Also compositional ones; with the rules of a model that was read anew, which has adapted to nothing."""
    for form in ({}, {"primitives": 3, "slots": 2}):
        if (METHODS[method].classification_only and kind == "transduction") or (
            method == "agnostic" and form
        ):
            continue
        learner, again = untrained(method, kind, **form), untrained(method, kind, **form)
        shots = learner.config.protocol.shots[0]
        pairs: list[Any] = [([1] * 5, 0), ([2], 1)] if kind == "classification" else [(X, [1, 2])]
        rule = learner.adapt(pairs * shots, primitives=["new", "1"] if form else ())
        assert again.predict_proba(rule, [X, []]) == learner.predict_proba(rule, [X, []])
