"""Errors for users' mistakes, and how their messages show values."""

from collections.abc import Generator
from contextlib import contextmanager

_LONGEST_MESSAGE = 1_000
_LONGEST_VALUE = 60


def printable(text: str) -> str:
    r"""Escape the control characters of a text, so that it cannot control a terminal.

    >>> printable("a\x1b[31m.json")
    'a\\x1b[31m.json'
    """
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


class UserError(Exception):
    """A user's mistake: the message says what was given, what is expected, and where.

    The command line prints only the message; any other exception is a bug and prints in full. Not a
    ValueError, because the command-line parser would catch it and add its own names to the message.
    """

    def __init__(self, message: str) -> None:
        text = printable(message)
        if len(text) > _LONGEST_MESSAGE:  # keep the end, which often says what to do
            text = f"{text[:700]} … {text[-250:]}"
        super().__init__(text)


class SettingError(UserError):
    """An invalid setting; the message begins with its name, which the command line shows as the option."""


class UnwritableError(UserError):
    """A file that cannot be written."""


class InterruptedRunError(Exception):
    """The run stopped early and can be resumed from its last checkpoint."""


OUT_OF_MEMORY = "out of memory: use a smaller network, or fewer tasks or rows per step"
_OF_TORCH = ("out of memory", "can't allocate memory", "ALLOC_FAILED")


@contextmanager
def report_out_of_memory() -> Generator[None]:
    """Turn out-of-memory errors of Python, numpy, torch and CUDA into a UserError."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not (isinstance(error, MemoryError) or any(words in str(error) for words in _OF_TORCH)):
            raise
        raise UserError(OUT_OF_MEMORY) from None


def shown(value: object) -> str:
    """Format a value for an error message, on one short line.

    >>> shown([1, "a"])
    "[1, 'a']"
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python's limit on the digits of an integer
        text = f"{type(value).__name__} with too many digits"
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun, in the singular or the plural.

    >>> counted(1, "task"), counted(2, "task"), counted(2, "is", "are")
    ('1 task', '2 tasks', '2 are')
    """
    return f"{count} {one if count == 1 else many or f'{one}s'}"
