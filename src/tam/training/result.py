"""The parts of a run's `result.json` that are read again."""

import json
from collections.abc import Mapping
from typing import Any, get_args

from tam.config.config import Config
from tam.errors import UserError, shown
from tam.io import NUMBER, OBJECT, STRING, Part, check_parts, json_text, number_or_null
from tam.tasks.task import Kind

_PARTS = {
    "method": STRING,
    "kind": Part(lambda value: value in get_args(Kind), f"one of {list(get_args(Kind))}"),
    "tasks": OBJECT,
    "fingerprint": STRING,
    "config": OBJECT,
    "scores": Part(lambda value: isinstance(value, list) and bool(value), "a list of scores, one or more"),
}
_PARTS_OF_SCORES = {
    "k": Part(lambda value: type(value) is int and 1 <= value < 2**31, "an integer of at least 1"),
    "accuracy": NUMBER,
    "accuracy_interval": number_or_null("none"),
    "perplexity": number_or_null("an infinite one"),
    "perplexity_interval": number_or_null("none"),
}


def checked_result(values: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a run, its config with every setting; an error if a part is missing or wrong."""
    check_parts(values, _PARTS)
    config = Config.from_json(values["config"])
    for place, score in enumerate(values["scores"]):
        if not isinstance(score, dict):
            raise UserError(f"scores[{place}] must be an object: got {shown(score)}")
        check_parts(score, _PARTS_OF_SCORES, f"scores[{place}].")
    return {**values, "config": json.loads(json_text(config.to_json()))}
