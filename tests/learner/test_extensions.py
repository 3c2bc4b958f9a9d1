"""Learners with what we add to TAM: fitted, saved, loaded and asked, as a user would."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tam
from tests.learner.small import small_benchmark, untrained

pytestmark = pytest.mark.slow

SETTINGS: dict[str, Any] = {"warm_share": 0.5, "learn_blank": True, "task_tokens": 2, "task_first": True}


@pytest.mark.parametrize("extra", [{}, {"proposer": True}, {"x_mask": "full"}, {"starts": 3}], ids=str)
@pytest.mark.parametrize("kind", ["classification", "transduction"])
def test_a_loaded_learner_answers_the_same(kind: str, extra: dict[str, Any], tmp_path: Path) -> None:
    tasks = small_benchmark(kind)
    learner = tam.Learner(preset="smoke", **SETTINGS, **extra).fit(tasks)
    task = tasks.test[0]
    examples = [task[row] for row in range(8)]
    rule = learner.adapt([(example.x, example.y) for example in examples])
    assert len(rule.point) == 2 * 16, "two tokens as wide as the network"
    learner.save(tmp_path / "model")
    rule.save(tmp_path / "rule.json")
    loaded, read = tam.load(tmp_path / "model"), tam.TaskEmbedding.load(tmp_path / "rule.json")
    inputs = [example.x for example in examples]
    assert loaded.predict(read, inputs) == learner.predict(rule, inputs)
    again = loaded.adapt([(example.x, example.y) for example in examples])
    np.testing.assert_allclose(again.vector, rule.vector, rtol=1e-4, atol=1e-6)
    assert rule.similarity(again) > 0.999
    mean = tam.TaskEmbedding.mean([rule, again])
    assert loaded.predict(mean, inputs) == learner.predict(rule, inputs)


def test_searches_must_be_an_integer_of_at_least_two() -> None:
    learner, examples = untrained("tam", starts=4), [([1, 2], "a"), ([2, 3], "b")]
    assert learner.adapt(examples, searches=2).searches == 2
    assert learner.adapt(examples, searches=9).searches == 4
    for wrong in (1, 2.5, "x"):
        with pytest.raises(tam.UserError, match="searches must be an integer of at least 2: got"):
            learner.adapt(examples, searches=wrong)  # pyright: ignore[reportArgumentType]
