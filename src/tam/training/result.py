"""What stands in the `result.json` of a run, as far as it is read again."""

import json
from collections.abc import Callable, Mapping
from typing import Any, get_args

from tam.config import Config
from tam.errors import UserError, shown
from tam.plain_json import json_text
from tam.tasks.task import Kind

_Check = tuple[Callable[[Any], bool], str]


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _or_none(value: Any) -> bool:
    return value is None or _is_number(value)


_PARTS: dict[str, _Check] = {
    "method": (lambda value: isinstance(value, str), "a string"),
    "kind": (lambda value: value in get_args(Kind), f"one of {list(get_args(Kind))}"),
    "tasks": (lambda value: isinstance(value, dict), "an object"),
    "fingerprint": (lambda value: isinstance(value, str), "a string"),
    "config": (lambda value: isinstance(value, dict), "an object"),
    "scores": (lambda value: isinstance(value, list) and bool(value), "a list of scores, one or more"),
}
_PARTS_OF_SCORES: dict[str, _Check] = {
    "k": (lambda value: type(value) is int and 1 <= value < 2**31, "an integer of at least 1"),
    "accuracy": (_is_number, "a number"),
    "accuracy_interval": (_or_none, "a number, or null for none"),
    "perplexity": (_or_none, "a number, or null for an infinite one"),
    "perplexity_interval": (_or_none, "a number, or null for none"),
}


def checked_result(values: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a run, its config with every setting; an error if this is none."""
    _check_parts(values, _PARTS, "")
    config = Config.from_json(values["config"])
    for place, score in enumerate(values["scores"]):
        if not isinstance(score, dict):
            raise UserError(f"scores[{place}] is an object, not {shown(score)}")
        _check_parts(score, _PARTS_OF_SCORES, f"scores[{place}].")
    return {**values, "config": json.loads(json_text(config.to_json()))}


def _check_parts(values: Mapping[str, Any], parts: Mapping[str, _Check], place: str) -> None:
    for name, (fits, what) in parts.items():
        if name not in values:
            raise UserError(f"it has no {f'{place}{name}'!r}")
        if not fits(values[name]):
            raise UserError(f"{place}{name} is {what}, not {shown(values[name])}")
