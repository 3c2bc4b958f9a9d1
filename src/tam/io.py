"""Files that are written whole or not at all, and strict JSON, where null stands for an infinite number."""

import json
import math
import os
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tam.errors import UnwritableError, UserError, shown

MALFORMED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What may be raised where values that were read are not what was written."""


def path_of(name: str | Path, option: str = "a path") -> Path:
    """The path of this name; `option` is what an error calls it."""
    if not isinstance(name, str | os.PathLike) or not str(name):
        raise UserError(f"{option} must be the name of a file or folder: got {shown(name)}")
    if "\0" in str(name):
        raise UserError(f"{str(name)!r}: a file name must not contain \\0")
    return Path(name)


def exists(path: Path) -> bool:
    """Whether a file or folder is there; a UserError if access is denied, which does not tell."""
    try:
        path.stat()
    except PermissionError as error:
        raise unreadable(path, error) from None
    except OSError:
        return False
    return True


def unreadable(path: Path, error: OSError) -> UserError:
    """The error of a file that the system does not let us read."""
    return UserError(f"{path}: cannot be read: {error.strerror or error}")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, too many digits, nested too deep
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UserError(f"{path}{line}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path}: expected an object")
    return value


@contextmanager
def replacing(path: str | Path) -> Generator[Path]:
    """Yield a temporary file to write; on success it becomes the file at `path`.

    If anything fails, the file that was at `path` stays. Links are followed, and the new file has the
    permissions that the umask gives.

    Raises:
        UnwritableError: If it cannot be written.
    """
    try:
        file = Path(os.path.realpath(path_of(path)))
        if file.exists() and not file.is_file():
            raise UnwritableError(f"{path}: cannot be written: it exists and is not a file")
        temporary = file.with_name(f".{file.name}.{secrets.token_hex(8)}.part")
        temporary.touch(exist_ok=False)  # follows no link
        mode = temporary.stat().st_mode
        try:
            yield temporary
            temporary.chmod(mode)  # safetensors makes a file of its own
            with open(temporary, "rb") as written:
                os.fsync(written.fileno())
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
    """A number as JSON can hold it: None if it is infinite or NaN."""
    return value if math.isfinite(value) else None


def infinite_if_none(value: float | None) -> float:
    """The inverse of `finite`, which reads null as infinity."""
    return math.inf if value is None else value


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as strict JSON; ValueError if a number in it is infinite or NaN, which is a bug.

    >>> json_text({"perplexity": finite(math.inf)})
    '{"perplexity": null}'
    """
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


class Part(NamedTuple):
    """What a field of a JSON object must be: a check, and how an error describes it."""

    fits: Callable[[Any], bool]
    what: str


def is_number(value: Any) -> bool:
    """Whether a value is an int or a float; a bool is not."""
    return type(value) in (int, float)


def is_list_of(*types: type) -> Callable[[Any], bool]:
    """A check that a value is a list whose items have exactly these types."""
    return lambda value: isinstance(value, list) and all(type(item) in types for item in value)


STRING = Part(lambda value: isinstance(value, str), "a string")
OBJECT = Part(lambda value: isinstance(value, dict), "an object")
NUMBER = Part(is_number, "a number")
TRUTH = Part(lambda value: isinstance(value, bool), "true or false")


def number_or_null(null: str) -> Part:
    """A number, or null, which stands for what `null` says."""
    return Part(lambda value: value is None or is_number(value), f"a number, or null for {null}")


def check_parts(values: Mapping[str, Any], parts: Mapping[str, Part], place: str = "") -> None:
    """Raise an error unless an object has all of these fields; `place` is its place in the file."""
    for name, part in parts.items():
        if name not in values:
            raise UserError(f"it has no {f'{place}{name}'!r}")
        if not part.fits(values[name]):
            raise UserError(f"{place}{name} is {part.what}, not {shown(values[name])}")
