"""A learner is scored on test tasks at any k."""

from pathlib import Path
from typing import Any

import pytest

import tam
from tam.config.config import Config
from tam.learner.adapting import identity
from tam.learner.evaluating import evaluate_run, open_run
from tam.training.folder import best_file
from tam.training.preflight import prepare
from tam.training.run import load_tasks, run, start
from tam.training.saved import Saved
from tam.training.scoring import score_rows
from tests.learner.small import small_benchmark


def test_a_run_its_evaluation_and_its_learner_have_the_same_scores(tmp_path: Path) -> None:
    """With the weights that validated best at each k, which are not the last ones, nor all the same."""
    source = {"name": "classification", "train": 20, "valid": 2, "test": 2}
    tasks = load_tasks(source)
    values = {"steps": 6, "validate_every": 1, "rate": 0.05, "warmup": 0, "seed": 4}
    config = Config.from_preset("smoke", **values)
    start(tmp_path, config, source, resume=False)
    result = run(prepare(config, tasks), tmp_path, lambda _: None)
    assert len({6, *result["best_steps"].values()}) == 3
    learner = tam.load(tmp_path)
    assert score_rows(learner.evaluate(tasks.test)) == result["scores"]
    assert evaluate_run(open_run(tmp_path))["scores"] == result["scores"]
    again = evaluate_run(open_run(tmp_path, shots=[2]))
    assert again["scores"] == score_rows(learner.evaluate(tasks.test, [2]))
    learner.save(tmp_path / "copy")
    copy = tam.load(tmp_path / "copy")
    assert score_rows(copy.evaluate(tasks.test)) == result["scores"]
    fitted = tam.Learner(preset="smoke", **values).fit(tasks)
    assert score_rows(fitted.evaluate(tasks.test)) == result["scores"]

    examples: list[Any] = [tuple(example) for example in tasks.test[0]]
    one = [next((x, y) for x, y in examples if y == label) for label in range(4)]
    rules = learner.adapt_many([one, one * 5])
    assert rules[0].model != rules[1].model
    best = Saved.read(tmp_path, "cpu").best
    assert [rule.model for rule in rules] == [identity(best[k][1]) for k in (1, 5)]
    inputs = [x for x, _ in examples[:6]]
    mixed = learner.predict_proba([rules[0], rules[1]] * 3, inputs)
    apart = [learner.predict_proba(rule, inputs) for rule in rules]
    for number, found in enumerate(mixed):
        assert found == pytest.approx(apart[number % 2][number], abs=1e-6)
    assert copy.predict_proba(rules[0], inputs) == apart[0]

    last = tam.load(tmp_path).identity_
    for k in (1, 5):  # as a model of an older version, or one that was copied without them
        best_file(tmp_path, k).unlink()
    assert {rule.model for rule in tam.load(tmp_path).adapt_many([one, one * 5])} == {last}


@pytest.mark.parametrize("shots", [5, [], [1.5], [0]])
def test_shots_are_values_of_k(classifier: tam.Learner, shots: Any) -> None:
    with pytest.raises(tam.UserError, match=r"^shots "):
        classifier.evaluate(small_benchmark("classification").test, shots)
