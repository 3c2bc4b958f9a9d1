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


@pytest.mark.parametrize("starts", [1, 3])
def test_classes_are_as_likely_as_in_torch(starts: int, tmp_path: Path) -> None:
    learner = untrained("tam", positions="rotary", starts=starts)
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


@pytest.mark.parametrize("starts", [1, 3])
def test_sequences_are_decoded_as_in_torch(starts: int, tmp_path: Path) -> None:
    learner = untrained("tam", "transduction", task_first=True, task_tokens=2, starts=starts)
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


def test_other_methods_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(tam.UserError, match="method tam"):
        untrained("matching", conditioning="none").export_onnx(tmp_path / "m.onnx")
