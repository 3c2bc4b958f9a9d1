"""Task embeddings as values and as files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tam.errors import UserError
from tam.learner.task_embedding import TaskEmbedding

RULE = TaskEmbedding(np.array([0.1, -2.5], dtype=np.float32), ("a", 1), "m", 0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": "ab"}, "labels is a list of different integers or strings, not 'ab'"),
        ({"labels": [1.5]}, r"labels is .*, not \[1.5\]"),
        ({"labels": [True]}, r"labels is .*, not \[True\]"),
        ({"labels": [["a"]]}, "labels is .*, not"),
        ({"labels": ["a", "a"]}, "labels is .* different"),
        ({"primitives": "ab"}, "primitives is a list of strings, not 'ab'"),
        ({"primitives": [1]}, "primitives is a list of strings"),
        ({"model": 3}, "model is a string, not 3"),
        ({"loss": "low"}, "loss is a number, or null for an infinite one, not 'low'"),
        ({"loss": 10**400}, "too large"),
        ({"is_support": 1}, "is_support is true or false, not 1"),
        ({"vector": 1.0}, "vector is a list of numbers, not 1.0"),
        ({"vector": [[1.0]]}, "vector is a list of numbers"),
        ({"vector": [True]}, "vector is a list of numbers"),
        ({"vector": ["1"]}, "vector is a list of numbers"),
        ({"vector": [float("nan")]}, "finite"),
        ({"vector": [1e300]}, "finite"),
        ({"vector": [10**400]}, "too large"),
        ({"more": 1}, "and no 'more'"),
    ],
)
def test_a_damaged_file_says_what_is_wrong(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "rule.json"
    file.write_text(json.dumps(RULE.to_json() | change))
    with pytest.raises(UserError, match=rf"rule\.json: not a task embedding: .*{message}"):
        TaskEmbedding.load(file)


def test_a_missing_part_is_named() -> None:
    values = RULE.to_json()
    del values["vector"]
    with pytest.raises(UserError, match="not a task embedding: it has no 'vector'"):
        TaskEmbedding.from_json(values)
    with pytest.raises(UserError, match="not a task embedding: 'int' object"):
        TaskEmbedding.from_json(3)  # pyright: ignore[reportArgumentType]


def test_a_rule_that_cannot_be_written_destroys_none(tmp_path: Path) -> None:
    file = tmp_path / "rule.json"
    RULE.save(file)
    broken = TaskEmbedding(RULE.vector, ("\ud800",), "m", 0.5)
    infinite = TaskEmbedding(RULE.vector * np.float32(np.inf), (), "m", 0.5)
    none = tmp_path / "none" / "rule.json"
    for rule, path in ((broken, file), (infinite, file), (RULE, tmp_path), (RULE, none)):
        with pytest.raises(UserError, match=f"^{path}: cannot be written"):
            rule.save(path)
    assert TaskEmbedding.load(file) == RULE
    assert list(tmp_path.iterdir()) == [file]


def test_equal_rules_give_the_same_answers() -> None:
    def changed(**values: Any) -> TaskEmbedding:
        return TaskEmbedding.from_json(RULE.to_json() | values)

    assert changed(loss=0.25) == RULE
    assert hash(changed(loss=0.25)) == hash(RULE)
    for other in ({"labels": ["a"]}, {"model": "n"}, {"primitives": ["p"]}, {"is_support": True}):
        assert changed(**other) != RULE
    assert changed(vector=[0.1, -2.5, 0.0]) != RULE
    assert RULE.to_json() != RULE


def test_a_mean_is_of_any_rules_there_are() -> None:
    assert TaskEmbedding.mean(rule for rule in (RULE, RULE)) == RULE
    given: Any
    for given in (None, [1], [RULE, "rule.json"], [None, RULE], 3):
        with pytest.raises(UserError, match=r"task embedding.*not (of )?(None|1|'rule.json'|3)"):
            TaskEmbedding.mean(given)
    with pytest.raises(UserError, match=r"expected a task embedding, not 'rule.json'"):
        RULE.similarity("rule.json")  # pyright: ignore[reportArgumentType]
