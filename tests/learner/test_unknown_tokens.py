"""Tokens that no training task has: read as unknown, in training, adapting, predicting and evaluating."""

import json
from pathlib import Path
from typing import Any

import pytest

import tam
from tam.config.config import Config
from tam.training.preflight import prepare


def write(path: Path, kind: str) -> tam.TaskSet:
    """Tasks whose validation and test tasks have a token each that training does not have."""
    lines = []
    for number, split in enumerate(["train"] * 6 + ["valid", "test"]):
        words = ["a", "b", "c", "d", "e", *{"valid": ["v"], "test": ["t", "u"]}.get(split, [])]
        rows = [[words[(i * j + number) % len(words)] for j in range(1 + i % 4)] for i in range(24)]
        examples = [{"x": x, "y": [*x, "."] if kind == "transduction" else len(x) % 2} for x in rows]
        lines.append({"task": f"{number}", "kind": kind, "examples": examples, "split": split})
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return tam.read_tasks(path)


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        *(("classification", method) for method in ("tam", "maml", "snail", "nearest")),
        *(("transduction", method) for method in ("tam", "cavia", "snail")),
    ],
)
def test_unseen_tokens_are_read_in_every_step(kind: str, method: str, tmp_path: Path) -> None:
    tasks = write(tmp_path / "tasks.jsonl", kind)
    notes: list[str] = []

    def log(record: Any) -> None:
        notes.extend([record["note"]] if "note" in record else [])

    learner: Any = tam.Learner(method, "smoke", shots=(1,)).fit(tasks, log=log)
    assert not {"v", "t", "u"} & set(learner.vocabulary_.tokens)
    if method != "nearest":
        assert any("tokens of the test tasks are in no training task" in note for note in notes)
    answers: Any = [0, 1] if kind == "classification" else [["a"], ["zzz", "a"]]
    examples = [(["zzz", "a"], answers[0]), ([7, 7], answers[1])]
    if method == "snail" and kind == "transduction":  # one model per k
        examples = examples[1:]
    rule = learner.adapt(examples)
    answer = learner.predict(rule, [["zzz", "b", "qqq"], ["a"]])
    if kind == "transduction":
        known = {*learner.vocabulary_.tokens, "zzz", "qqq"}
        assert all(set(tokens) <= known for tokens in answer)
    (score,) = learner.evaluate(tasks.test, shots=[1])
    assert 0 <= score.accuracy <= 1
    assert score.perplexity < 1e4
    learner.save(tmp_path / "model")
    again = tam.load(tmp_path / "model")
    assert again.predict(again.adapt(examples), [["zzz", "b", "qqq"], ["a"]]) == answer


def test_the_paper_and_benchmarks_know_all_tokens(tmp_path: Path) -> None:
    tasks = write(tmp_path / "tasks.jsonl", "classification")
    setup = prepare(Config.from_preset("paper", benchmark=str(tmp_path), shots=(1,), supports=1), tasks)
    assert setup.spec.vocabulary == len(tasks.vocabulary) == 8
    assert not setup.spec.unknown_tokens
    assert Config.from_preset("quick", benchmark="transduction").network.mask_tokens == 0
    assert Config.from_preset("quick", benchmark="mine.jsonl").network.mask_tokens > 0
