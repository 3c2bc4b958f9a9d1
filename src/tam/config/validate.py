"""Checks on the fields of a settings dataclass."""

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import UnionType
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from tam.errors import SettingError, UserError, shown

_LARGEST_FLOAT32 = 3.4028234663852886e38


def check_types(settings: object) -> None:
    """Raise an error unless every field has a value of its type, and every number fits a tensor."""
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


_BOUNDS: dict[str, Callable[[float, float], bool]] = {
    "at least": operator.ge,
    "at most": operator.le,
    "above": operator.gt,
    "below": operator.lt,
}


def check_numbers(
    settings: object, bound: Literal["at least", "at most", "above", "below"], limit: float, *names: str
) -> None:
    """Raise an error unless all numbers in these fields are within the bound."""
    for name in names:
        value = getattr(settings, name)
        if not all(_BOUNDS[bound](number, limit) for number in _numbers(value)):
            raise SettingError(f"{name} must be {bound} {limit}: got {value!r}")


def check_integers(options: object, ranges: Mapping[str, tuple[int, int]]) -> None:
    """Raise an error unless each of these fields is an integer within its range."""
    for name, (low, high) in ranges.items():
        value = getattr(options, name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise SettingError(f"{name} must be an integer from {low} to {high}: got {shown(value)}")


def check_known(given: Iterable[str], known: Collection[str], what: str) -> None:
    """Raise an error if an option is unknown; its message lists the known ones after `what`."""
    if unknown := sorted(set(given) - set(known)):
        raise UserError(f"unknown option {shown(unknown[0])}: {what} {', '.join(known)}")


def check_sizes(settings: object, name: str) -> None:
    """Raise an error unless a field is a valid range of support sizes."""
    low, high = getattr(settings, name)
    if not 1 <= low <= high:
        raise SettingError(f"{name} must be at least 1, the smaller first: got {(low, high)}")


def _numbers(value: object) -> Iterator[int | float]:
    """Yield the numbers in a setting, which may be a tuple."""
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, int | float):
            yield item


def _fits(value: object, expected: Any) -> bool:
    """Whether a value is of a type that settings use; an int is also a float, a bool is neither."""
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
