"""The result of a run is checked when it is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from tam.config.config import Config
from tam.errors import UserError
from tam.training.run import read_result
from tests.training.run_folder import plain
from tests.training.toys import toy_config

NOT_RESULTS: list[tuple[dict[str, Any], str]] = [
    ({"method": 3}, "method must be a string: got 3"),
    ({"config": {"seed": "x"}}, "seed must be of type int"),
    ({"scores": []}, r"scores must be a list of scores, one or more: got \[\]"),
    ({"scores": [{}]}, r"it has no 'scores\[0\].k'"),
    ({"k": True}, r"scores\[0\].k must be an integer of at least 1: got True"),
    ({"perplexity": "inf"}, r"scores\[0\].perplexity must be a number, or null for an infinite one: got"),
]


def test_a_result_that_is_none_is_an_error(tmp_path: Path) -> None:
    names = ("accuracy", "accuracy_interval", "perplexity", "perplexity_interval")
    score = {"k": 1} | dict.fromkeys(names, 0.5)
    right = {"method": "tam", "kind": "classification", "tasks": {}, "fingerprint": "f", "scores": [score]}
    right["config"] = plain(toy_config().to_json())
    file = tmp_path / "result.json"
    assert read_result(tmp_path) is None
    for missing in right:
        file.write_text(json.dumps({name: value for name, value in right.items() if name != missing}))
        with pytest.raises(UserError, match=rf"result.json: not the result of a run: it has no '{missing}'"):
            read_result(tmp_path)
    for change, message in NOT_RESULTS:
        wrong = {"scores": [score | change]} if change.keys() <= score.keys() else change
        file.write_text(json.dumps(right | wrong))
        with pytest.raises(UserError, match=f"result.json: not the result of a run: {message}"):
            read_result(tmp_path)
    file.write_text(json.dumps(right | {"config": {}, "scores": [score | {"perplexity": None}]}))
    result = read_result(tmp_path)
    assert result is not None
    assert result["config"] == plain(Config().to_json())  # what is not there has its default
