"""The command `tam`."""

import os
import sys
from io import TextIOWrapper

import tyro

from tam.commands.tasks import Tasks
from tam.commands.train import Train
from tam.commands.use import Adapt, Eval, Predict
from tam.errors import UserError


def _command() -> Tasks | Train | Eval | Adapt | Predict:
    train = Train.with_defaults_of(sys.argv[2:]) if sys.argv[1:2] == ["train"] else Train
    return tyro.extras.subcommand_cli_from_dict(
        {"tasks": Tasks, "train": train, "eval": Eval, "adapt": Adapt, "predict": Predict},
        prog="tam",
        description="Learn a new sequence task from a handful of examples.",
        config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes),
    )


def main() -> None:
    """Run the command line."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # where → cannot be shown, ? is
    try:
        try:
            _command().run()
        finally:
            sys.stdout.flush()  # here a closed pipe can be caught, when Python ends it cannot
    except UserError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
