"""The errors that a user sees, and how they show what was given."""

from collections.abc import Generator
from contextlib import contextmanager

_LONGEST_MESSAGE = 1_000
_LONGEST_VALUE = 60


def printable(text: str) -> str:
    r"""Text with its control characters escaped, so that none of them can steer a terminal.

    >>> printable("a\x1b[31m.json")
    'a\\x1b[31m.json'
    """
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


class UserError(Exception):
    """A mistake in what the user gave: the message says what was given, what is expected, and where.

    The command line shows the message alone; any other exception is a bug of ours and shows in full. It is
    not a ValueError: the parser of the command line would take that for its own and add its own names.
    """

    def __init__(self, message: str) -> None:
        text = printable(message)
        if len(text) > _LONGEST_MESSAGE:  # a very long name: the end often says what to do
            text = f"{text[:700]} … {text[-250:]}"
        super().__init__(text)


class SettingError(UserError):
    """A mistake in a setting, whose name comes first; the command line shows it as the option."""


class UnwritableError(UserError):
    """A file that cannot be written."""


class InterruptedRunError(Exception):
    """The run stopped before its end, and can be resumed from its last checkpoint."""


@contextmanager
def report_out_of_memory() -> Generator[None]:
    """Turn the errors of Python, numpy and torch about too little memory into a UserError."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        in_torch = "OutOfMemoryError" in type(error).__name__ or "can't allocate memory" in str(error)
        if not (in_torch or isinstance(error, MemoryError)):
            raise
        raise UserError("out of memory: use a smaller network, or fewer tasks or rows per step") from None


def shown(value: object) -> str:
    """A value as an error message shows it: on one short line.

    >>> shown([1, "a"])
    "[1, 'a']"
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python's limit on the digits of an integer
        text = f"{type(value).__name__} with too many digits"
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
