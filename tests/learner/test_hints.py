"""Learners that read hints: what they keep of a task, and what they answer."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tam
from tam.errors import UserError
from tam.learner.task_embedding import EmbeddingError, TaskEmbedding
from tam.models.hints import Hints

STEMS = ["tal", "wal", "bak", "kil", "jum", "loo", "see", "lik", "ask", "rol", "mix", "pul"]


def suffixed(number: int, letters: str = "") -> list[tuple[list[str], list[str]]]:
    """Examples that end in two letters of the task's own."""
    end = letters or "abcdefgh"[number] + "hgfedcba"[number]
    return [(list(stem), list(stem + end)) for stem in STEMS]


@pytest.fixture(scope="module")
def learner() -> tam.Learner:
    """An untrained one, which answers as the rule does."""
    tasks = tam.tasks_from({f"{number}": suffixed(number) for number in range(8)})
    return tam.Learner("tam", "smoke", steps=1, rate=0.0, shots=(4,)).fit(tasks, log=lambda _: None)


def test_an_untrained_learner_answers_by_the_rule(learner: tam.Learner) -> None:
    assert learner.model_.spec.memory == 72  # of the 6 training tasks
    rule = learner.adapt(suffixed(0)[:4])
    inputs = [list("sit"), list("mam")]
    assert learner.predict(rule, inputs) == [list("sitah"), list("mamah")]
    both = learner.predict_proba(rule, inputs, beams=2)
    assert [list(next(iter(one))) for one in both] == [list("sitah"), list("mamah")]


def test_an_answer_may_have_tokens_that_no_training_task_and_no_input_has(learner: tam.Learner) -> None:
    rule = learner.adapt(suffixed(0, "ЖЩ")[:4])
    assert learner.predict(rule, [list("sit"), list("яfя")]) == [list("sitЖЩ"), list("яfяЖЩ")]


def test_with_rotary_positions_longer_inputs_have_whole_hints() -> None:
    tasks = tam.tasks_from({f"{number}": suffixed(number) for number in range(8)})
    options: Any = {"steps": 1, "rate": 0.0, "shots": (4,), "positions": "rotary"}
    long = tam.Learner("tam", "smoke", **options).fit(tasks, log=lambda _: None)
    rule = long.adapt(suffixed(0, "ЖЩ")[:4])
    word = "antidisestablishmentarianism"
    assert long.predict(rule, [list(word), list("яfя")]) == [list(word + "ЖЩ"), list("яfяЖЩ")]


def test_inputs_of_different_tasks_are_answered_together_as_alone(learner: tam.Learner) -> None:
    first, second = learner.adapt_many([suffixed(1)[:4], iter(suffixed(5)[4:9])])
    assert [list(rule.examples) for rule in (first, second)] == [suffixed(1)[:4], suffixed(5)[4:9]]
    rules, inputs = [first, second, first], [list("sit"), list("sit"), list("mam")]
    together = learner.predict(iter(rules), inputs)
    assert together == [learner.predict(rule, [x])[0] for rule, x in zip(rules, inputs, strict=True)]


def test_examples_are_kept_with_the_embedding(learner: tam.Learner, tmp_path: Path) -> None:
    given: Any = [(np.array(["t", "o"]), ("t", "o", "x")), (iter(["g", "o"]), ["g", "o", "x"])]
    rule = learner.adapt(given)
    assert rule.examples == ((["t", "o"], ["t", "o", "x"]), (["g", "o"], ["g", "o", "x"]))
    rule.save(tmp_path / "rule.json")
    again = TaskEmbedding.load(tmp_path / "rule.json")
    assert again == rule
    assert again != replace(rule, examples=rule.examples[:1])
    learner.save(tmp_path / "model")
    loaded = tam.load(tmp_path / "model")
    assert loaded.predict(again, [list("sit")]) == learner.predict(rule, [list("sit")]) == [list("sitx")]
    with pytest.raises(EmbeddingError, match="its examples: expected pairs"):
        learner.predict(replace(rule, examples=()), [list("sit")])
    values: dict[str, Any] = json.loads((tmp_path / "rule.json").read_text())
    with pytest.raises(EmbeddingError, match="examples must be a list of objects"):
        TaskEmbedding.from_json(values | {"examples": [[1, 2]]})
    mean = TaskEmbedding.mean([rule, replace(rule, examples=rule.examples[:1])])
    assert len(mean.examples) == 3


def test_a_store_gives_the_examples_back(learner: tam.Learner) -> None:
    examples = suffixed(2)[:4]
    rule = learner.adapt(examples)
    with tam.Store(":memory:", learner) as store:
        store.put("second", rule, examples)
        assert store.get("second").embedding == rule
        assert store.embeddings(["second"])["second"] == rule
        assert store.nearest("second", 1) == []


def test_a_training_task_does_not_recall_its_own_answers(learner: tam.Learner) -> None:
    """With a support of examples that say nothing, an answer can only come from another task."""
    hints = Hints.of_model(learner.model_)
    assert hints is not None
    known = next(iter(hints.memory.values()))
    assert len(known) == 6
    tasks = tam.tasks_from({f"{number}": suffixed(number) for number in range(8)})
    own = learner.intake.tasks(tasks.train)
    for number, task in enumerate(own):
        recalled = hints._hinted(task, [(np.arange(3), np.arange(4, 5))], number)  # pyright: ignore[reportPrivateUsage]
        separator = recalled[0].index(hints.spec.named)
        assert recalled[0][:separator] == task.y.row(4).tolist()  # pyright: ignore[reportAttributeAccessIssue]


def test_a_model_with_hints_is_not_exported(learner: tam.Learner, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="set hints to 0; got 2"):
        learner.export_onnx(tmp_path / "model.onnx")
