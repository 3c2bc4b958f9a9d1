"""What an ONNX file computes is what torch computes, with numpy and onnxruntime alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import tam
from tests.learner.small import untrained

pytestmark = pytest.mark.slow

CLOSE: dict[str, Any] = {"atol": 1e-4, "rtol": 0}


def session(learner: tam.Learner, path: Path) -> Any:
    learner.export_onnx(path)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def test_classes_are_as_likely_as_in_torch(tmp_path: Path) -> None:
    learner = untrained("tam", positions="rotary")
    rules = [
        learner.adapt([([3, 1, 4], "a"), ([2, 7], "b"), ([5, 5, 5, 5, 5], "c")]),
        learner.adapt([([1, 1], "no"), ([], "yes")]),
    ]
    run = session(learner, tmp_path / "m.onnx")
    facts = run.get_modelmeta().custom_metadata_map
    ids = {token: number for number, token in enumerate(json.loads(facts["vocabulary"]))}
    assert (facts["kind"], facts["model"], facts["max_x"]) == ("classification", learner.identity_, "5")
    inputs = [[9, 8, 7], [1], [], [0, 1, 2, 3, 4]]
    for rows in (inputs, inputs[:1]):
        each = [rules[place % 2] for place in range(len(rows))]
        x = np.zeros((len(rows), 5), np.int64)
        for row, tokens in zip(x, rows, strict=True):
            row[: len(tokens)] = [ids[token] for token in tokens]
        fed = {
            "z": np.stack([rule.vector for rule in each]),
            "x": x,
            "x_length": np.array([len(row) for row in rows]),
            "classes": np.array([len(rule.labels) for rule in each]),
        }
        (found,) = run.run(None, fed)
        for rule, row, expected in zip(each, found, learner.predict_proba(each, rows), strict=True):
            assert np.allclose(np.exp(row[: len(rule.labels)]), list(expected.values()), **CLOSE)
            assert np.exp(row[len(rule.labels) :]).sum() == 0


def test_sequences_are_decoded_as_in_torch(tmp_path: Path) -> None:
    learner = untrained("tam", "transduction", task_first=True, task_tokens=2)
    rule = learner.adapt([([3, 1, 4], [1, 2]), ([2, 7], [7])])
    run = session(learner, tmp_path / "m.onnx")
    rows, end = [[9, 8, 7], [1], [0, 1, 2, 3, 4]], 12
    x, y = np.zeros((3, 5), np.int64), np.zeros((3, 2), np.int64)
    for row, tokens in zip(x, rows, strict=True):
        row[: len(tokens)] = tokens
    z, x_length, y_length = np.stack([rule.vector] * 3), np.array([3, 1, 5]), np.zeros(3, np.int64)
    total, ended = np.zeros(3), np.zeros(3, bool)
    for place in range(3):
        (found,) = run.run(None, {"z": z, "x": x, "x_length": x_length, "y": y, "y_length": y_length})
        assert found.shape == (3, 3, 13)
        following = found[:, place, : end + 1] if place < 2 else found[:, place, end:]
        token = following.argmax(1) + (0 if place < 2 else end)
        total += np.where(ended, 0, following.max(1))
        ended |= token == end
        if place < 2:
            y[:, place] = np.where(ended, 0, token)
        y_length += ~ended
    expected = learner.predict_proba([rule] * 3, rows)
    for tokens, length, log_prob, likely in zip(y, y_length, total, expected, strict=True):
        ((answer, chance),) = likely.items()
        assert tuple(tokens[:length].tolist()) == answer
        assert np.exp(log_prob) == pytest.approx(chance, abs=1e-4)


@pytest.mark.parametrize("name", ["classification", "transduction"])
def test_mixtures(name: str, tmp_path: Path) -> None:
    """All searches are in the file."""
    learner = untrained("tam", name, starts=3)
    x = list(range(learner.model_.spec.max_x))
    size = learner.method.searches * (1 + learner.model_.task_size)
    vector = np.random.default_rng(0).normal(size=size).astype(np.float32)
    weights = vector.reshape(learner.method.searches, -1)[:, 0]
    weights[:] = np.abs(weights) / np.abs(weights).sum()
    labels = ("a", "b") if name == "classification" else ()
    rule = tam.TaskEmbedding(vector, labels, learner.identity_, 0.0, searches=learner.method.searches)
    run = session(learner, tmp_path / "m.onnx")
    fed = {"z": vector[None], "x": np.array([x]), "x_length": np.array([len(x)])}
    if name == "classification":
        (found,) = run.run(None, fed | {"classes": np.array([2])})
        (expected,) = learner.predict_proba(rule, [x])
        assert np.allclose(np.exp(found[0, :2]), list(expected.values()), **CLOSE)
        return
    ((answer, chance),) = learner.predict_proba(rule, [x])[0].items()
    y = np.zeros((1, learner.model_.spec.max_y), np.int64)
    y[0, : len(answer)] = answer
    (found,) = run.run(None, fed | {"y": y, "y_length": np.array([len(answer)])})
    tokens = [*answer, *([12] if len(answer) < y.shape[1] else [])]
    log_prob = sum(found[0, place, token] for place, token in enumerate(tokens))
    assert np.exp(log_prob) == pytest.approx(chance, abs=1e-4)


def test_other_methods_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(tam.UserError, match="method tam"):
        untrained("matching", conditioning="none").export_onnx(tmp_path / "m.onnx")
