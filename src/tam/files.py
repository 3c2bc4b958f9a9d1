"""Names of files, the object in a JSON file, and a file that is written whole or not at all."""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
