"""The command `tam`."""

import re
import sys
from dataclasses import fields
from io import TextIOWrapper

import tyro

from tam import __version__
from tam.cli.exit import command
from tam.cli.parsing import REGISTRY
from tam.cli.tasks import Tasks
from tam.cli.train import Train
from tam.cli.use import Adapt, Eval, Predict
from tam.config.methods import SETTINGS
from tam.config.sections import Network, Protocol, Training
from tam.errors import SettingError, UserError


def _command() -> Tasks | Train | Eval | Adapt | Predict:
    _check_given_once(sys.argv[2:])
    train = Train.with_defaults_of(sys.argv[2:]) if sys.argv[1:2] == ["train"] else Train
    return tyro.extras.subcommand_cli_from_dict(
        {"tasks": Tasks, "train": train, "eval": Eval, "adapt": Adapt, "predict": Predict},
        prog="tam",
        description="Learn a new sequence task from a handful of examples. Its version: tam --version.",
        config=(tyro.conf.OmitArgPrefixes,),
        registry=REGISTRY,
    )


def _check_given_once(arguments: list[str]) -> None:
    """Raise an error if an option is given twice: which of the two is meant, nobody can tell."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    given = set[str]()
    for word in options:
        name = word.partition("=")[0].replace("_", "-")
        if name in given and name.startswith("--"):
            raise UserError(f"{name} is given twice: give it once")
        given.add(name)


def _as_typed(message: str, arguments: list[str]) -> str:
    """The message about a setting with settings as options.

    These are names of several words, and a first word that was typed as an option.

    >>> _as_typed("steps is at least 0, not -1", ["--steps", "-1"])
    '--steps is at least 0, not -1'
    >>> _as_typed("give smaller support_sizes or more rows", ["--support-sizes", "1", "300"])
    'give smaller --support-sizes or more rows'
    """
    typed = {word.partition("=")[0][2:].replace("-", "_") for word in arguments if word.startswith("--")}
    known = {f.name for part in (Network, Training, Protocol, *SETTINGS.values()) for f in fields(part)}
    long = "|".join(sorted(name for name in typed | known if "_" in name))
    first = message.partition(" ")[0]
    message = re.sub(rf"(?<![\w/.-])(?:{long})(?![\w/.-])", lambda m: f"--{m[0].replace('_', '-')}", message)
    return f"--{message}" if first in typed and "_" not in first else message


def main() -> None:
    """Run the command line."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # where → cannot be shown, ? is
    with command(_told):
        if sys.argv[1:] == ["--version"]:
            print(f"tam {__version__}")
        else:
            _command().run()


def _told(error: UserError) -> str:
    return _as_typed(str(error), sys.argv[2:]) if isinstance(error, SettingError) else str(error)
