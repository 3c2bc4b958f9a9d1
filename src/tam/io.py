"""Atomic file writes, and strict JSON, where null stands for an infinite number."""

import json
import math
import os
import secrets
import shutil
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tam.errors import UnwritableError, UserError, shown

MALFORMED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Exceptions that malformed file contents may raise."""
_SQLITE = b"SQLite format 3\0"


def path_of(name: str | Path, option: str = "a path") -> Path:
    """Convert a name to a path; errors call it `option`."""
    if not isinstance(name, str | os.PathLike) or not str(name):
        raise UserError(f"{option} must be the name of a file or folder: got {shown(name)}")
    if "\0" in str(name):
        raise UserError(f"{str(name)!r}: a file name must not contain \\0")
    return Path(name)


def exists(path: Path) -> bool:
    """Whether a file or folder exists; raises a UserError if access is denied."""
    try:
        path.stat()
    except PermissionError as error:
        raise unreadable(path, error) from None
    except OSError:
        return False
    return True


def unreadable(path: Path, error: OSError) -> UserError:
    """The error for a file that cannot be read."""
    return UserError(f"{path}: cannot be read: {error.strerror or error}")


def read_json(path: Path) -> dict[str, Any]:
    """Read the object in a JSON file."""
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


def _is_database(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(_SQLITE)) == _SQLITE


@contextmanager
def replacing(path: str | Path) -> Generator[Path]:
    """Yield a temporary file to write; on success it becomes the file at `path`.

    On failure the old file stays. Links are followed, and the umask sets the new file's permissions.

    Raises:
        UnwritableError: If the file cannot be written.
    """
    try:
        file = Path(os.path.realpath(path_of(path)))
        if file.exists() and not file.is_file():
            raise UnwritableError(f"{path}: cannot be written: it exists and is not a file")
        if file.exists() and _is_database(file):
            raise UnwritableError(f"{path}: this is a store of tasks, which no other file replaces")
        temporary = file.with_name(f".{file.name}.{secrets.token_hex(8)}.part")
        temporary.touch(exist_ok=False)  # follows no link
        mode = temporary.stat().st_mode
        try:
            yield temporary
            temporary.chmod(mode)  # safetensors replaces the file
            with open(temporary, "rb") as written:
                os.fsync(written.fileno())
            os.replace(temporary, file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UnwritableError(f"{path}: cannot be written: {error.strerror or error}") from None
    except UnicodeEncodeError:
        raise UnwritableError(
            f"{path}: cannot be written: a string has a lone surrogate, which is half a character"
        ) from None


@contextmanager
def new_folder(path: Path) -> Generator[Path]:
    """Yield a temporary folder to fill; on success it becomes the folder at `path`.

    Raises:
        UserError: If a file or a folder that is not empty is there, or it cannot be written.
    """
    folder = Path(os.path.realpath(path))
    try:
        if exists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
            raise UserError(f"{path} exists already: give the name of a new folder")
        temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.part")
        temporary.mkdir(parents=True)
        try:
            yield temporary
            os.replace(temporary, folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise UnwritableError(f"{path}: cannot be written: {error.strerror or error}") from None


def finite(value: float) -> float | None:
    """A number for JSON: None if it is infinite or NaN."""
    return value if math.isfinite(value) else None


def infinite_if_none(value: float | None) -> float:
    """The inverse of `finite`: None becomes infinity."""
    return math.inf if value is None else value


def json_text(value: Any, indent: int | None = None) -> str:
    """Serialise a value as strict JSON; an infinite or NaN number is a bug and raises ValueError.

    >>> json_text({"perplexity": finite(math.inf)})
    '{"perplexity": null}'
    """
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


class Part(NamedTuple):
    """The type of a field in a JSON object: a check, and its description in errors."""

    fits: Callable[[Any], bool]
    what: str


def is_number(value: Any) -> bool:
    """Whether a value is an int or a float; a bool is not."""
    return type(value) in (int, float)


def is_list_of(*types: type) -> Callable[[Any], bool]:
    """Return a check that a value is a list whose items have exactly these types."""
    return lambda value: isinstance(value, list) and all(type(item) in types for item in value)


STRING = Part(lambda value: isinstance(value, str), "a string")
OBJECT = Part(lambda value: isinstance(value, dict), "an object")
NUMBER = Part(is_number, "a number")
TRUTH = Part(lambda value: isinstance(value, bool), "true or false")


def number_or_null(null: str) -> Part:
    """A number or null; `null` describes what null stands for."""
    return Part(lambda value: value is None or is_number(value), f"a number, or null for {null}")


def check_parts(values: Mapping[str, Any], parts: Mapping[str, Part], place: str = "") -> None:
    """Raise an error unless an object has all these fields, all valid; errors put `place` before a name."""
    for name, part in parts.items():
        if name not in values:
            raise UserError(f"it has no {f'{place}{name}'!r}")
        if not part.fits(values[name]):
            raise UserError(f"{place}{name} must be {part.what}: got {shown(values[name])}")
