"""Task embeddings that learners make: plain values, taken by the model that made them and by no other."""

from pathlib import Path
from typing import Any

import pytest

import tam
from tam.methods import METHODS
from tests.learner.small import X, untrained

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", ["snail", "matching", "nearest"])
def test_rules_that_are_examples_have_no_mean_and_no_similarity(method: str) -> None:
    learner = untrained(method)
    rule = learner.adapt([(X, 0), ([1] * 5, 1)] * learner.config.protocol.shots[0])
    for use in (lambda: tam.TaskEmbedding.mean([rule]), lambda: rule.similarity(rule)):
        with pytest.raises(tam.UserError, match="neither a mean nor a similarity"):
            use()


FOREIGN: list[tuple[str, dict[str, Any], str]] = [
    ("tam", {"model": "another"}, "another model"),
    ("tam", {"vector": [1.0] * 3}, "vector .*8"),
    ("tam", {"labels": []}, "labels"),
    ("tam", {"labels": list("abcde")}, "labels"),
    ("tam", {"is_support": True}, "is_support"),
    ("tam", {"searches": 2}, "searches"),
    ("tam", {"primitives": ["a"]}, "primitives"),
    ("maml", {"vector": [1.0] * 3}, "vector"),
    ("prototypical", {"vector": [1.0] * 31}, "vector .*32"),
    ("nearest", {"vector": []}, "vector .*8"),
    *(
        ("snail", {"vector": vector}, "vector")
        for vector in (
            [1.0] * 9,
            [1.0, 5, 0, 0, 0, 0, 12, 0],
            [1.0, 5, 0, 0, 0, 0, -1, 0],
            [1.0, 5, 0, 0, 0, 0, 0.5, 0],
            [1.0, 6, 0, 0, 0, 0, 0, 0],
            [1.0, 5, 0, 0, 0, 0, 0, 2],
        )
    ),
]


@pytest.mark.parametrize(("method", "change", "about"), FOREIGN)
def test_a_rule_that_the_model_did_not_make(method: str, change: dict[str, Any], about: str) -> None:
    learner = untrained(method)
    shots = learner.config.protocol.shots[0]
    rule = learner.adapt([([1] * 5, 0), ([2] * 5, 1)] * shots)
    changed = tam.TaskEmbedding.from_json(rule.to_json() | change)
    with pytest.raises(tam.UserError, match=about):
        learner.predict(changed, [X])
    with pytest.raises(tam.UserError, match=f"^task embedding 1: .*{about}"):
        learner.predict([rule, changed], [X, X])


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("kind", ["classification", "transduction"])
def test_a_loaded_learner_of_every_method_takes_saved_rules(method: str, kind: str, tmp_path: Path) -> None:
    for form in ({}, {"primitives": 3, "slots": 2}):
        if (METHODS[method].classification_only and kind == "transduction") or (
            method == "agnostic" and form
        ):
            continue
        learner = untrained(method, kind, **form)
        learner.save(tmp_path / "model")
        loaded = tam.load(tmp_path / "model")
        shots = learner.config.protocol.shots[0]
        pairs: list[Any] = [([1] * 5, 0), ([2], 1)] if kind == "classification" else [(X, [1, 2])]
        rule = learner.adapt(pairs * shots, primitives=["new", "1"] if form else ())
        rule.save(tmp_path / "rule.json")
        read = tam.TaskEmbedding.load(tmp_path / "rule.json")
        assert read == rule == loaded.adapt(pairs * shots, primitives=rule.primitives)
        assert loaded.predict_proba(read, [X, []]) == learner.predict_proba(rule, [X, []])
