"""Errors and exit codes: an error of the user's, or of the machine's, is one line on standard error.

The exit code is 0, even if the reader of the output stops early; 1 after an error, and after a run that was
asked to stop; 2 if the command line cannot be parsed; 130 after a Ctrl-C that ends a command immediately.
"""

import os
import re
import sys
import warnings
from collections.abc import Collection, Generator
from contextlib import contextmanager, redirect_stderr, suppress
from io import StringIO

from tam.errors import InterruptedRunError, SettingError, UserError, report_out_of_memory
from tam.training.heap import keep_freed_memory

_RESUME = "continue with the same command and --resume"


@contextmanager
def command() -> Generator[None]:
    """Run a command: an error becomes one line and an exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as by >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    keep_freed_memory()
    with _exit_code_of_interrupts(), _ignore_broken_pipe(), _short_warnings():
        try:
            with report_out_of_memory():
                yield
        except SettingError as error:  # its message begins with the setting's name
            name, _, rest = str(error).partition(" ")
            sys.exit(f"error: --{name.replace('_', '-')} {rest}")
        except UserError as error:
            sys.exit(f"error: {error}")
        except InterruptedRunError as error:
            sys.exit(f"{error}; {_RESUME}")


@contextmanager
def usage_errors_in_a_line(commands: Collection[str]) -> Generator[None]:
    """Print tyro's errors as one line; tyro draws a box around them and repeats the help of the option."""
    captured = StringIO()
    try:
        with redirect_stderr(captured):
            yield
    except SystemExit as end:
        if end.code:
            words = ["tam", *(word for word in sys.argv[1:2] if word in commands), "--help"]
            print(f"error: {_in_a_line(captured.getvalue())}; see {' '.join(words)}", file=sys.stderr)
        raise


def _in_a_line(box: str) -> str:
    """Extract the error from a box, as one line."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", box)
    inside = [line[2:-1].rstrip() for line in plain.splitlines()[1:-1]]
    text = " ".join(line.strip() for line in inside if not line.startswith(8 * " "))  # deeper lines are help
    parts = [part.strip() for part in re.split("[─-]{9,}", text.partition("  Got errors:")[0])]
    kept = [
        part for part in parts if part and not part.startswith(("Argument helptext", "For full helptext"))
    ]
    text = ". ".join(part.rstrip(".") for part in kept).removeprefix("Error parsing ")
    return text[:1].lower() + text[1:]


@contextmanager
def hint_resume() -> Generator[None]:
    """Mention `--resume` if a Ctrl-C ends a run immediately."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped immediately; {_RESUME}") from None


@contextmanager
def _exit_code_of_interrupts() -> Generator[None]:
    """Exit with 130 after a Ctrl-C, and print its message if it has one."""
    try:
        yield
    except KeyboardInterrupt as stop:
        with suppress(OSError):
            print(*stop.args, end="\n" if stop.args else "", file=sys.stderr, flush=True)
        sys.exit(130)


@contextmanager
def _short_warnings() -> Generator[None]:
    """Show a warning as one line, without the line of code it comes from."""

    def show(message: Warning | str, *_: object) -> None:
        over_a_bar = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{over_a_bar}warning: {' '.join(str(message).split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def _ignore_broken_pipe() -> Generator[None]:
    """Exit silently if nobody reads the output any more, and with an error if it cannot be written."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # an error can be caught here, but not while Python exits
    except OSError as error:
        if error.filename is not None:  # about a file, not the output: a bug, to be shown in full
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            sys.exit(f"error: the output cannot be written: {error.strerror}")
