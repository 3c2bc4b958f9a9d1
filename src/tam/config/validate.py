"""Checks that a dataclass of settings makes of its fields."""

import math
from types import UnionType
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from tam.errors import SettingError, shown


def check_types(settings: object) -> None:
    """Raise an error unless every field has a value of its type, and every number is finite."""
    for name, expected in get_type_hints(type(settings)).items():
        value = getattr(settings, name)
        if get_origin(expected) is Literal:
            _one_of(settings, name, get_args(expected))
        elif get_origin(expected) is not ClassVar and not _fits(value, expected):
            named = expected.__name__ if isinstance(expected, type) and not get_args(expected) else expected
            raise SettingError(f"{name} is of type {named}, not {value!r}")
        numbers = value if isinstance(value, tuple) else (value,)
        if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
            raise SettingError(f"{name} is finite, not {value!r}")


def check_at_least(settings: object, least: float, *names: str) -> None:
    """Raise an error if a field of one of these names has a value below the least; None is none."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not value >= least:
            raise SettingError(f"{name} is at least {least}, not {value!r}")


def check_at_most(settings: object, most: float, *names: str) -> None:
    """Raise an error if a field of one of these names has a value above the most; None is none."""
    for name in names:
        value = getattr(settings, name)
        numbers = value if isinstance(value, tuple) else (value,)
        if any(number is not None and number > most for number in numbers):
            raise SettingError(f"{name} is at most {most}, not {shown(value)}")


def _fits(value: object, expected: Any) -> bool:
    """Whether a value is of a type, as far as types occur here; an integer is a number, a truth value not."""
    if get_origin(expected) is UnionType:
        return any(_fits(value, part) for part in get_args(expected))
    if get_origin(expected) is tuple:
        parts = get_args(expected)
        if not isinstance(value, tuple) or (Ellipsis not in parts and len(value) != len(parts)):
            return False
        return all(_fits(item, parts[0]) for item in value)
    if expected in (int, float):
        return isinstance(value, (int, expected)) and not isinstance(value, bool)
    return isinstance(value, expected)


def _one_of(settings: object, name: str, choices: tuple[Any, ...]) -> None:
    if getattr(settings, name) not in choices:
        raise SettingError(f"{name} is one of {list(choices)}, not {getattr(settings, name)!r}")
