"""The one error that a user's mistake raises, and how it shows what was given."""


class UserError(Exception):
    """A mistake in what the user gave: the message says what was given, what is expected, and where.

    The command line shows the message alone; any other exception is a bug of ours and shows in full. It is no
    ValueError: what parses the command line would take that for its own, and show it beside its own names.
    """


class SettingError(UserError):
    """A mistake in a setting, whose name comes first; the command line shows it as the option."""


class UnwritableError(UserError):
    """A file that cannot be written."""


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
