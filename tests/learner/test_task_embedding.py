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
    "change",
    [
        *({"labels": labels} for labels in ("ab", [1.5], [True], ["a", "a"])),
        *({"primitives": primitives} for primitives in ("ab", [1])),
        *({"vector": vector} for vector in (1.0, [[1.0]], ["1"], [float("nan")], [1e300])),
        *({"model": 3}, {"loss": "low"}, {"is_support": 1}, {"searches": 0}, {"more": 1}),
    ],
)
def test_a_damaged_file_says_what_is_wrong(change: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "rule.json"
    file.write_text(json.dumps(RULE.to_json() | change))
    with pytest.raises(UserError, match=rf"rule\.json: not a task embedding: .*{next(iter(change))}"):
        TaskEmbedding.load(file)


def test_a_missing_part_is_named() -> None:
    values = RULE.to_json()
    del values["is_support"], values["searches"]
    assert TaskEmbedding.from_json(values) == RULE, "older files lack these"
    del values["vector"]
    with pytest.raises(UserError, match=r"not a task embedding: .*'vector'"):
        TaskEmbedding.from_json(values)


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


def test_a_mean_is_of_rules_of_one_task() -> None:
    far = TaskEmbedding.from_json(RULE.to_json() | {"vector": [0.3, 0.5]})
    mean = TaskEmbedding.mean(rule for rule in (RULE, far))
    assert np.allclose(mean.vector, [0.2, -1.0])
    assert RULE.similarity(RULE) == pytest.approx(1.0)
    with pytest.raises(UserError, match="different models"):
        RULE.similarity(TaskEmbedding.from_json(RULE.to_json() | {"model": "n"}))
    other = TaskEmbedding.from_json(RULE.to_json() | {"labels": ["a", 2]})
    for rules in ([], [RULE, other]):
        with pytest.raises(UserError, match="mean needs"):
            TaskEmbedding.mean(rules)
