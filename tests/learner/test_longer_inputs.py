"""Inputs and answers longer than any of the tasks: with rotary positions, in every use of a model."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import tam
from tam.config.config import Config
from tam.errors import UserError
from tam.evaluation.protocol import Choice
from tam.models import build_model
from tam.training.defaults import follow_data
from tam.training.saved import Saved
from tests.learner.small import untrained


def write(path: Path, kind: str, lengths: range) -> tam.TaskSet:
    """Tasks about one letter each: is it in x, or x without it."""
    lines = []
    for number, split in enumerate(["train"] * 6 + ["valid", "test"]):
        one, words = "abcdef"[number % 6], "abcdef"
        rows = [
            [words[(i * (j + 1) + number) % 6] for j in range(lengths[i % len(lengths)])] for i in range(24)
        ]
        answers: list[Any] = [[w for w in x if w != one] for x in rows]
        if kind == "classification":
            answers = [int(one in x) for x in rows]
        examples = [{"x": x, "y": y} for x, y in zip(rows, answers, strict=True)]
        lines.append({"task": f"{number}", "kind": kind, "examples": examples, "split": split})
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return tam.read_tasks(path)


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("classification", "maml"),
        ("classification", "prototypical"),
        ("classification", "tam"),
        pytest.param("transduction", "tam", marks=pytest.mark.slow),
    ],
)
def test_a_model_of_short_tasks_takes_long_ones(kind: str, method: str, tmp_path: Path) -> None:
    short = write(tmp_path / "short.jsonl", kind, range(1, 5))
    long = write(tmp_path / "long.jsonl", kind, range(7, 12))
    learner: Any = tam.Learner(method, "smoke", shots=(1,), positions="rotary").fit(short)
    assert learner.model_.spec.max_x == 4
    answers: Any = [0, 1] if kind == "classification" else [["a"] * 6, ["b"] * 9]
    examples = [(["a"] * 8, answers[0]), (["b"] * 70, answers[1])]
    inputs = [["c", "zzz"] * 20, ["a"]]
    rule = learner.adapt(examples)
    found = learner.predict(rule, inputs)
    assert found == [learner.predict(rule, [x])[0] for x in inputs]
    (score,) = learner.evaluate(long.test, shots=[1])
    assert score.perplexity < 1e4
    learner.save(tmp_path / "model")
    again: Any = tam.load(tmp_path / "model")
    assert again.predict(again.adapt(examples), inputs) == found


@pytest.mark.parametrize("kind", ["classification", "transduction"])
def test_a_table_ends_and_the_error_says_what_does_not(kind: Any) -> None:
    learner = untrained("tam", kind)
    answer: Any = 1 if kind == "classification" else [1]
    with pytest.raises(UserError, match=r"6 tokens; the model takes up to 5; .* --positions rotary"):
        learner.predict(learner.adapt([([1], answer)]), [[1] * 6])


def test_a_longer_answer_is_found() -> None:
    """The model of a rule that never ends stops where there is no room, at every row's own limit."""
    learner: Any = untrained("tam", "transduction", positions="rotary")
    with torch.no_grad():
        learner.model_.head.bias[-1] = -100.0  # the end
    rule = learner.adapt([([1, 2], [3])])
    short, long = learner.predict(rule, [[1, 2], [1] * 20])
    assert (len(short), len(long)) == (4, 16)


def test_a_model_of_inputs_longer_than_its_weights_are_wide_is_read(tmp_path: Path) -> None:
    learner = untrained("tam", positions="rotary")
    model = build_model(replace(learner.model_.spec, max_x=500), torch.Generator().manual_seed(0))
    Saved(learner.config, model, learner.vocabulary_, None, {1: Choice(1, 0.1)}).write(tmp_path)
    assert tam.load(tmp_path).model_.spec.max_x == 500


def test_an_old_config_has_a_table() -> None:
    old = Config.from_preset("paper").to_json()
    del old["network"]["positions"]
    config = Config.from_json(old)
    assert config.network.positions == "table"
    assert not config.differences(old)
    assert Config.from_preset("quick", benchmark="classification").network.positions == "table"


def test_when_tasks_of_ones_own_have_rotary_positions(tmp_path: Path) -> None:
    tasks = write(tmp_path / "mine.jsonl", "classification", range(1, 5))

    def chosen(preset: str, **values: Any) -> str:
        config = Config.from_preset(preset, "tam", "mine.jsonl", **values)
        return follow_data(config, tasks, values, preset=preset).config.network.positions

    assert chosen("quick") == "rotary"
    assert chosen("best") == chosen("paper") == chosen("quick", positions="table") == "table"
    assert chosen("quick", width=12) == "table"
