"""How a command ends: a user's mistake, and what nobody can help, with a line on standard error.

The exit code is 0 too where nobody reads the output any more, 1 after an error and after a run that was asked
to stop and did so after a step, 130 after a Ctrl-C that ends a command at once.
"""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from tam.errors import InterruptedRunError, UserError, report_out_of_memory
from tam.training.heap import keep_freed_memory

_TAKE_UP = "take it up again with the same command and --resume"


@contextmanager
def command(told: Callable[[UserError], str] = str) -> Generator[None]:
    """Do what a command does, up to the end of the process; `told` is how it shows an error of the user's."""
    _check_streams()
    keep_freed_memory()
    with _interrupts_are_told(), _output_may_end(), _short_warnings():
        try:
            with report_out_of_memory():
                yield
        except UserError as error:
            sys.exit(f"error: {told(error)}")
        except InterruptedRunError as error:
            sys.exit(f"{error}; {_TAKE_UP}")


@contextmanager
def a_run_to_resume() -> Generator[None]:
    """Do what `--resume` can take up: a Ctrl-C that ends it at once says so."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped at once; {_TAKE_UP}") from None


@contextmanager
def _interrupts_are_told() -> Generator[None]:
    """Ctrl-C has an exit code of its own; once all is done and said, it has no effect while Python ends."""
    try:
        try:
            yield
        finally:
            with suppress(ValueError):  # not the main thread: signals are somebody else's
                signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt as stop:
        with suppress(OSError):
            print(*stop.args, end="\n" if stop.args else "", file=sys.stderr, flush=True)
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
