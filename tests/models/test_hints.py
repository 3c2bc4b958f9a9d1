"""Hints: the inputs that models read, their parts of the mixture, and what an untrained model answers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tam
from tam.config.config import Config
from tam.config.sections import Protocol
from tam.evaluation.floors import floors
from tam.evaluation.protocol import Choice, score
from tam.methods import make_method
from tam.models import ModelSpec, build_model, target_log_prob
from tam.models.batch import collate
from tam.models.copying import follow
from tam.models.hints import TIMES, Hints, ridge_scores, token_weights
from tam.tasks.task import Sequences, Task

VERBS = ["walk", "talk", "bake", "go", "make", "sit", "kick", "like", "see", "ask", "pick", "joke"]


def past(verb: str) -> str:
    return verb + "d" if verb.endswith("e") else verb + "ed"


def words() -> tam.TaskSet:
    """Tasks that add an ending, and one verb that is an exception."""
    rows = {
        f"{number}": [(list(v), list("went" if v == "go" else past(v) + "xyz"[number % 3])) for v in VERBS]
        for number in range(6)
    }
    return tam.tasks_from(rows)


def spec_for(tasks: tam.TaskSet, hints: int = 2) -> ModelSpec:
    sizes: dict[str, Any] = {"layers": 1, "width": 16, "heads": 2, "hints": hints}
    kind, letters = tasks.kind, len(tasks.vocabulary)
    if kind == "classification":
        extra = 8 * tasks.n_classes
        return ModelSpec(kind=kind, vocabulary=letters + extra, classes=tasks.n_classes, max_x=4, **sizes)
    return ModelSpec(kind=kind, vocabulary=letters + 1, max_x=4, max_y=8, copies=True, **sizes)


def in_words(task: Task, x: list[int], spec: ModelSpec) -> str:
    return "".join("|" if i == spec.separator else str(task.vocabulary.tokens[i]) for i in x)


def test_an_example_is_not_told_its_own_answer() -> None:
    tasks = words()
    task, spec = tasks.train[0], spec_for(tasks)
    assert isinstance(task.y, Sequences)
    support = np.array([VERBS.index(verb) for verb in ("walk", "bake", "go")])
    rows = np.array([VERBS.index(verb) for verb in ("go", "walk", "talk", "make")])
    hinted = Hints(spec).add(task, support, rows)
    end = str(task.vocabulary.tokens[task.y.row(0)[-1]])
    found = [in_words(task, hinted.x.row(i).tolist(), spec) for i in range(4)]
    assert found == [
        f"goed{end}|god{end}|go",  # by walk and bake alone, the first of which is in front
        f"walkd{end}||walk",  # by bake: no edit of go fits
        f"talked{end}|talkd{end}|talk",
        f"maked{end}|makeed{end}|make",
    ]
    assert isinstance(hinted.y, Sequences)
    assert np.array_equal(hinted.y.row(1), task.y.row(VERBS.index("walk")))


def test_training_examples_occur_with_different_hints() -> None:
    tasks = words()
    hints = Hints(spec_for(tasks))
    first, again, other = (hints.for_training(tasks.train[:1], seed)[0] for seed in (0, 0, 1))
    assert len(first) == TIMES * len(VERBS)
    assert np.array_equal(first.x.ids, again.x.ids)
    assert first.x.ids.shape != other.x.ids.shape or not np.array_equal(first.x.ids, other.x.ids)
    assert len({tuple(first.x.row(i * len(VERBS)).tolist()) for i in range(TIMES)}) > 1


@pytest.mark.parametrize("hints", [1, 2])
def test_a_model_starts_as_the_commonest_edit(hints: int) -> None:
    """Untrained, with z = 0, it gives what the floor gives, on the same supports and queries."""
    tasks = words()
    config = Config.from_preset("smoke", "tam", shots=(4,), supports=3)
    model = build_model(spec_for(tasks, hints), torch.Generator().manual_seed(0))
    found = score(make_method(config), model, tasks.train, 4, Choice(0, 0.1), config.protocol)
    floor = floors(tasks.train, config.protocol)["commonest edit"][0]
    assert [task.accuracy for task in found.tasks] == [task.accuracy for task in floor.tasks]


def test_probabilities_sum_to_one_and_targets_agree() -> None:
    tasks = words()
    spec = spec_for(tasks)
    model = build_model(spec, torch.Generator().manual_seed(0))
    rows = np.arange(len(VERBS))
    batch = collate([Hints(spec).add(task, rows[:5], rows) for task in tasks.train[:2]], [rows, rows])
    condition = model.condition(model.blank(2).unsqueeze(1), batch)
    outcomes = model.outcomes(condition, batch)
    torch.testing.assert_close(outcomes.exp().sum(-1), torch.ones(outcomes.shape[:-1]))
    torch.testing.assert_close(target_log_prob(outcomes, batch), model.log_prob(condition, batch))


def test_an_answer_is_followed_as_long_as_y_begins_like_it() -> None:
    separator, rows = 9, [([1, 2, 9, 1, 3, 4, 9, 5], [1, 3, 4]), ([9, 2, 9, 7], [2, 2]), ([5, 9, 9], [5])]
    for x, y in rows:
        ids, answer = torch.tensor([x]), torch.tensor([y])
        found = follow(ids, torch.ones_like(ids, dtype=torch.bool), answer, 2, separator)
        first = x.index(separator)
        second = x.index(separator, first + 1)
        for hint, (start, end) in enumerate([(0, first), (first + 1, second)]):
            told = x[start:end]
            for place in range(len(y) + 1):
                expected = bool(told) and place <= len(told) and told[:place] == y[:place]
                assert bool(found.active[0, place, hint]) == expected
                if expected:
                    assert int(found.place[0, place, hint]) == start + place


def test_ridge_leaves_an_example_out_as_if_it_had_not_been_there() -> None:
    draws = np.random.default_rng(0)
    features, support = draws.normal(size=(9, 5)), np.array([6, 1, 3, 8])
    labels = np.where(draws.random((9, 3)) < 0.5, 1.0, -1.0)
    kernel = features @ features[support].T
    found = ridge_scores(kernel, labels, support)
    for row in range(9):
        others = support[support != row]
        weights = np.linalg.solve(features[others] @ features[others].T + np.eye(len(others)), labels[others])
        np.testing.assert_allclose(found[row], features[row] @ features[others].T @ weights)


def test_classes_are_told_by_the_words_that_are_rare_elsewhere() -> None:
    texts = [["my", word, "is", "late"] for word in ("card", "cash", "card", "cash", "card", "cash")]
    tasks = tam.tasks_from({f"{i}": [(x, int(x[1] == "card")) for x in texts] for i in range(4)})
    task, spec = tasks.train[0], spec_for(tasks)
    weights = token_weights(tasks.train, spec)
    ids = {token: number for number, token in enumerate(task.vocabulary.tokens)}
    assert weights[ids["my"]] == weights[ids["late"]] < weights[ids["card"]]
    assert not weights[spec.named :].any()
    hinted = Hints(spec, weights).add(task, np.arange(4), np.arange(6))
    first = [(hinted.x.row(i)[0] - spec.named) // 8 for i in range(6)]
    assert first == [1, 0, 1, 0, 1, 0]
    assert all(np.array_equal(hinted.x.row(i)[2:], task.x.row(i)) for i in range(6))
    asked = Hints(spec, weights).ask(
        replace(task, x=Sequences(task.x.ids[:4], task.x.lengths[:4]), y=replace(task.y, ids=task.y.ids[:4])),
        Sequences(task.x.ids[4:], task.x.lengths[4:]),
    )
    assert asked == [hinted.x.row(i).tolist() for i in (4, 5)]


def test_hints_are_for_own_tasks_and_methods_that_do_not_read_examples() -> None:
    assert Config.from_preset("quick", benchmark="mine.jsonl").network.hints == 2
    assert Config.from_preset("quick", benchmark="transduction").network.hints == 0
    assert Config.from_preset("paper", benchmark="mine.jsonl").network.hints == 0
    assert Config.from_preset("quick", "snail", benchmark="mine.jsonl").network.hints == 0
    assert Protocol() == Config.from_preset("paper", benchmark="mine.jsonl").protocol


def test_a_model_of_lists_answers_as_programs_do_and_still_does_when_it_was_saved(tmp_path: Path) -> None:
    """Without a step of training; reversing is no edit."""
    rng = np.random.default_rng(0)
    inputs = [rng.permutation(10)[: rng.integers(2, 6)].tolist() for _ in range(12)]
    rows = {str(n): [(x[n % 2 :], x[n % 2 :][::-1]) for x in inputs] for n in range(6)}
    learner = tam.Learner(preset="smoke", hints=1, copy=True, programs=2_000, steps=0, shots=(4,))
    learner.fit(tam.tasks_from(rows))
    rule = learner.adapt([([1, 2], [2, 1]), ([5, 3, 4], [4, 3, 5]), ([7, 7, 1], [1, 7, 7])])
    learner.save(tmp_path / "model")
    rule.save(tmp_path / "rule.json")
    again, rule_again = tam.load(tmp_path / "model"), tam.TaskEmbedding.load(tmp_path / "rule.json")
    assert learner.predict(rule, [[9, 2, 8]]) == again.predict(rule_again, [[9, 2, 8]]) == [[8, 2, 9]]
    assert learner.evaluate(tam.tasks_from(rows).test, shots=(4,))[0].accuracy == 1
