"""Files and JSON: names of files, files written whole or not at all, and JSON that every reader takes.

JSON has no infinite number, so null stands for one.
"""

import json
import math
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tam.errors import UnwritableError, UserError, shown


def path_of(name: str | Path, option: str = "a path") -> Path:
    """A file or folder that can be; an error says if no such name can, and to which option it was given."""
    if not isinstance(name, str | os.PathLike):
        raise UserError(f"{option} is the name of a file or folder, not {shown(name)}")
    if not str(name):
        raise UserError(f"{option} is the name of a file or folder, not ''")
    if "\0" in str(name):
        raise UserError(f"{str(name)!r}: no name of a file has the character \\0")
    return Path(name)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # no JSON, no text, a number too long, lists too deep
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UserError(f"{path}{line}: not JSON, or not of ours: {error}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path}: expected an object")
    return value


@contextmanager
def replacing(path: str | Path) -> Generator[Path]:
    """Where to write what shall stand at `path`; it goes there once all of it is written.

    Until then, and if anything fails, what was there stays.

    Raises:
        UnwritableError: If it cannot be written.
    """
    try:
        file = Path(os.path.realpath(path_of(path)))
        if file.exists() and not file.is_file():
            raise UnwritableError(f"{path}: cannot be written: it exists and is not a file")
        temporary = file.with_name(f".{file.name}.{os.getpid()}.part")
        try:
            yield temporary
            os.replace(temporary, file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UnwritableError(f"{path}: cannot be written: {error.strerror or error}") from None
    except UnicodeEncodeError:
        raise UnwritableError(
            f"{path}: cannot be written: a string has half a character, a lone surrogate"
        ) from None


def finite(value: float) -> float | None:
    """A number as JSON can hold it: None for one that is infinite, or no number."""
    return value if math.isfinite(value) else None


def infinite_if_none(value: float | None) -> float:
    """The number that `finite` made this of."""
    return math.inf if value is None else value


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON; an infinite number in it is a bug, and raises ValueError.

    >>> json_text({"perplexity": finite(math.inf)})
    '{"perplexity": null}'
    """
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


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
