"""The one error that a user's mistake raises."""


class UserError(Exception):
    """A mistake in what the user gave: the message says what was given, what is expected, and where.

    The command line shows the message alone; any other exception is a bug of ours and shows in full. It is no
    ValueError: what parses the command line would take that for its own, and show it beside its own names.
    """


class SettingError(UserError):
    """A mistake in a setting, whose name comes first; the command line shows it as the option."""
