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
WORDS = ["abc", "bcd", "cda", "dab", "acd", "bda", "cab", "dca"] * 3


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


def test_unknown_tokens_are_copied_as_in_torch(tmp_path: Path) -> None:
    """As documented in docs/onnx.md: a model of the user's own tasks copies, and reads unknown tokens."""
    split_of = {"train": 1, "valid": 2, "test": 0}
    shifts: Any = {
        s: {f"by {n}": [(list(w), list(w[n:] + w[:n])) for w in WORDS]} for s, n in split_of.items()
    }
    learner = tam.Learner(preset="smoke", hints=0, shots=(1,), queries=2).fit(tam.tasks_from(shifts))
    rule = learner.adapt([(list("abc"), list("bca"))])
    run = session(learner, tmp_path / "m.onnx")
    facts = run.get_modelmeta().custom_metadata_map
    ids = {token: number for number, token in enumerate(json.loads(facts["vocabulary"]))}
    named = {number: token for token, number in ids.items()}
    for text in ("abc", "aÄb", "ÄÖÄ"):
        known = [ids.get(token, int(facts["copied"]) + text.index(token)) for token in text]
        x = np.zeros((1, int(facts["max_x"])), np.int64)
        x[0, : len(text)] = known
        y, length, ended = np.zeros((1, int(facts["max_y"])), np.int64), 0, False
        while length < y.shape[1] and not ended:
            fed = {"z": rule.vector[None], "x": x, "x_length": np.array([len(text)]), "y": y}
            outputs: Any = run.run(None, fed | {"y_length": np.array([length])})
            log_prob = outputs[0][0, length]
            log_prob[int(facts["unknown"])] = -np.inf
            token = log_prob.argmax()
            if not (ended := bool(token == len(log_prob) - 1)):
                y[0, length], length = token, length + 1
        answer = [named[i] if i in named else text[i - int(facts["copied"])] for i in y[0, :length]]
        expected: Any = learner.predict(rule, [list(text)])[0]
        assert answer == expected[: y.shape[1]]


def test_other_methods_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(tam.UserError, match="method tam"):
        untrained("matching", conditioning="none").export_onnx(tmp_path / "m.onnx")
