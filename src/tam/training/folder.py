"""The folder of a run: its files, its lock and its metrics."""

import json
import math
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from tam.errors import InterruptedRunError, UnwritableError, UserError
from tam.io import MALFORMED, json_text
from tam.training import distribution
from tam.training.checkpoint import write_text

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

Log = Callable[[Mapping[str, Any]], None]


def checkpoint_file(folder: Path) -> Path:
    """The last checkpoint of a run."""
    return folder / "checkpoint.safetensors"


def best_file(folder: Path, k: int) -> Path:
    """The weights that validated best at k."""
    return folder / f"best-{k}.safetensors"


_OF_A_RUN = ("config.json", "result.json", "checkpoint.safetensors", "learner.json", "model.safetensors")


def check_free(folder: Path, files: Iterable[str] = _OF_A_RUN) -> None:
    """Raise an error if a folder has one of these files, which a new run would overwrite."""
    for name in files:
        if os.path.exists(folder / name):
            raise UserError(f"{folder} holds a run or a model already ({name}): give another folder")


@contextmanager
def writing_to(folder: Path) -> Generator[None]:
    """Raise a `UserError` if a run's files cannot be written."""
    try:
        yield
    except BrokenPipeError:
        raise InterruptedRunError("stopped because the log's output was closed") from None
    except (OSError, UnwritableError) as error:
        what = f"{folder}: cannot be used: {error}" if isinstance(error, OSError) else str(error)
        raise UserError(f"{what}; once it can be written, continue the run with --resume") from None


class LockedError(UserError):
    """Another process is working on the run."""


def lock_file(folder: Path) -> Path:
    """The file that the process working on a run has locked; it holds the id of the process."""
    return folder / ".lock"


@contextmanager
def alone_in(folder: Path) -> Generator[None]:
    """Lock a run's folder, so that no other process writes there; of several ranks, the first holds it."""
    if fcntl is None or distribution.rank() != 0:
        yield
        return
    path = lock_file(folder)
    for _ in range(25):  # half a second, since `is_locked` holds the lock briefly
        with open(path, "a", encoding="utf-8") as file:
            if _lock(file, path):
                file.truncate(0)
                print(os.getpid(), file=file, flush=True)
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return
        time.sleep(0.02)
    raise LockedError(f"{folder}: another process is working on this run")


def _lock(file: TextIO, path: Path) -> bool:
    """Lock a file, unless another process holds the lock or its last holder has removed the file."""
    assert fcntl is not None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        return False


def is_locked(file: Path) -> bool:
    """Whether a process holds the lock of a file."""
    if fcntl is None:
        return False
    try:
        with file.open() as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


@contextmanager
def metrics(folder: Path, step: int, log: Log) -> Generator[Log]:
    """Append records to metrics.jsonl, after dropping those later than `step`, where the run continues."""
    if distribution.rank() != 0:
        yield lambda _: None
        return
    path = folder / "metrics.jsonl"
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n") if path.exists() else []
    kept = [line for line in lines if step and _step_of(line) <= step]
    write_text(path, "".join(f"{line}\n" for line in kept))
    with open(path, "a", encoding="utf-8") as file:

        def record(values: Mapping[str, Any]) -> None:
            file.write(json_text(values) + "\n")
            file.flush()
            log(values)

        yield record


def _step_of(line: str) -> float:
    """The step of a record; infinite for a line that was cut off."""
    try:
        return float(json.loads(line)["step"])
    except MALFORMED:
        return math.inf
