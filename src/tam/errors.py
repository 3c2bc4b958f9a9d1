"""The one error that a user's mistake raises and how it shows what was given, and that of a stopped run."""

from collections.abc import Generator
from contextlib import contextmanager


class UserError(Exception):
    """A mistake in what the user gave: the message says what was given, what is expected, and where.

    The command line shows the message alone; any other exception is a bug of ours and shows in full. It is no
    ValueError: what parses the command line would take that for its own, and show it beside its own names.
    """


class SettingError(UserError):
    """A mistake in a setting, whose name comes first; the command line shows it as the option."""


class UnwritableError(UserError):
    """A file that cannot be written."""


class InterruptedRunError(Exception):
    """The run stopped before its end, and can be taken up from its last checkpoint."""


@contextmanager
def short_memory_is_told() -> Generator[None]:
    """Turn what Python, numpy and torch raise where memory is short into an error that says so."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        torch_says = "OutOfMemoryError" in type(error).__name__ or "can't allocate memory" in str(error)
        if not (torch_says or isinstance(error, MemoryError)):
            raise
        raise UserError(
            "there is not enough memory: make the network smaller, or the tasks and rows that go at once"
        ) from None


def shown(value: object) -> str:
    """A value as an error shows it: on one line, and not a long one.

    >>> shown([1, "a"])
    "[1, 'a']"
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python's limit on the digits of an integer
        text = f"{type(value).__name__} with too many digits"
    return text if len(text) <= 60 else f"{text[:59]}…"
