"""What an object in a JSON file of ours has: for every part a check, and in words what passes it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tam.errors import UserError, shown


class Part(NamedTuple):
    """What one part of an object is."""

    fits: Callable[[Any], bool]
    what: str


def is_number(value: Any) -> bool:
    """Whether a value is a number; a truth value is none."""
    return type(value) in (int, float)


def is_list_of(*types: type) -> Callable[[Any], bool]:
    """Whether a value is a list of values of these types alone."""
    return lambda value: isinstance(value, list) and all(type(item) in types for item in value)


STRING = Part(lambda value: isinstance(value, str), "a string")
OBJECT = Part(lambda value: isinstance(value, dict), "an object")
NUMBER = Part(is_number, "a number")
TRUTH = Part(lambda value: isinstance(value, bool), "true or false")


def number_or_null(null: str) -> Part:
    """A number, or null, which stands for this."""
    return Part(lambda value: value is None or is_number(value), f"a number, or null for {null}")


def check_parts(values: Mapping[str, Any], parts: Mapping[str, Part], place: str = "") -> None:
    """Raise an error unless an object, whose place in the file is given, has all of these parts."""
    for name, part in parts.items():
        if name not in values:
            raise UserError(f"it has no {f'{place}{name}'!r}")
        if not part.fits(values[name]):
            raise UserError(f"{place}{name} is {part.what}, not {shown(values[name])}")
