"""How a command ends: a user's mistake, and what nobody can help, with a line on standard error.

The exit code is 0 too where nobody reads the output any more, 1 after an error, 130 after Ctrl-C.
"""

import os
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager

from tam.errors import InterruptedRunError, UserError, short_memory_is_told


@contextmanager
def command(told: Callable[[UserError], str] = str) -> Generator[None]:
    """Do what a command does; `told` is how it shows an error of the user's."""
    _check_streams()
    with _output_may_end(), _short_warnings():
        try:
            with short_memory_is_told():
                yield
        except UserError as error:
            sys.exit(f"error: {told(error)}")
        except InterruptedRunError as error:
            sys.exit(f"{error}; take it up again with the same command and --resume")
        except KeyboardInterrupt:
            sys.exit(130)


def _check_streams() -> None:
    """Raise an error, before any work is done, if standard output is closed; do without standard error."""
    if sys.stderr is None:  # as after 2>&-: the exit code says how it went
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    if sys.stdout is None:
        sys.exit("error: the output cannot be written: standard output is closed")


@contextmanager
def _short_warnings() -> Generator[None]:
    """Show a warning as one line, without the place in our code that gives it."""

    def show(message: Warning | str, *_: object) -> None:
        over_a_bar = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{over_a_bar}warning: {' '.join(str(message).split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def _output_may_end() -> Generator[None]:
    """End in silence where nobody reads the output any more, and with a line where it cannot be written."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here an error can be caught, when Python ends it cannot
    except BrokenPipeError:
        _leave_output()
    except OSError as error:
        if error.filename is not None:  # of a file, which is a bug of ours: it should be said where
            raise
        _leave_output()
        sys.exit(f"error: the output cannot be written: {error.strerror}")


def _leave_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
