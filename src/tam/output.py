"""Standard output that cannot be written: closed by its reader, or on a disk that is full."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def output_may_end() -> Generator[None]:
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
