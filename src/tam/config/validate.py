"""Checks that a dataclass of settings makes of its fields."""

from collections.abc import Iterator
from types import UnionType
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from tam.errors import SettingError, shown

_LARGEST_FLOAT32 = 3.4028234663852886e38


def check_types(settings: object) -> None:
    """Raise an error unless every field has a value of its type, and tensors can hold every number."""
    for name, expected in get_type_hints(type(settings)).items():
        if get_origin(expected) is ClassVar:
            continue
        value = getattr(settings, name)
        if get_origin(expected) is Literal:
            if value not in get_args(expected):
                raise SettingError(f"{name} must be one of {list(get_args(expected))}: got {value!r}")
        elif not _fits(value, expected):
            named = expected.__name__ if isinstance(expected, type) and not get_args(expected) else expected
            raise SettingError(f"{name} must be of type {named}: got {shown(value)}")
        for number in _numbers(value):
            if isinstance(number, int) and abs(number) >= 2**63:
                raise SettingError(f"{name} must be below 2^63: got {shown(value)}")
            if not abs(number) <= _LARGEST_FLOAT32:
                raise SettingError(f"{name} must be finite and within float32: got {value!r}")


def check_at_least(settings: object, least: float, *names: str) -> None:
    """Raise an error if one of these fields has a number below the least."""
    for name in names:
        value = getattr(settings, name)
        if any(number < least for number in _numbers(value)):
            raise SettingError(f"{name} must be at least {least}: got {value!r}")


def check_at_most(settings: object, most: float, *names: str) -> None:
    """Raise an error if one of these fields has a number above the most."""
    for name in names:
        value = getattr(settings, name)
        if any(number > most for number in _numbers(value)):
            raise SettingError(f"{name} must be at most {most}: got {value!r}")


def check_sizes(settings: object, name: str) -> None:
    """Raise an error unless a field is a smallest and a largest size of a support."""
    low, high = getattr(settings, name)
    if not 1 <= low <= high:
        raise SettingError(f"{name} must be at least 1, the smaller first: got {(low, high)}")


def _numbers(value: object) -> Iterator[int | float]:
    """The numbers in a setting: one, those of a tuple, or none."""
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, int | float):
            yield item


def _fits(value: object, expected: Any) -> bool:
    """Whether a value is of a type, as far as types occur here; an integer is a number, a bool is not."""
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
