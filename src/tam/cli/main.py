"""The command `tam`."""

import sys
from io import TextIOWrapper
from typing import Any

import tyro

from tam import __version__
from tam.cli.compare import Compare
from tam.cli.demo import Demo
from tam.cli.exit import command, usage_errors_in_a_line
from tam.cli.generate import Generate
from tam.cli.models import Export, Models, Pack, Push
from tam.cli.predict import Predict
from tam.cli.report import Report
from tam.cli.reproduce import Reproduce
from tam.cli.reproduce import main as reproduce
from tam.cli.serve import Serve
from tam.cli.store import StoreCommand
from tam.cli.tasks import Tasks
from tam.cli.train import Train
from tam.cli.use import Adapt, Eval

COMMANDS: dict[str, Any] = {
    "demo": Demo,
    "models": Models,
    "tasks": Tasks,
    "generate": Generate,
    "train": Train,
    "eval": Eval,
    "compare": Compare,
    "adapt": Adapt,
    "predict": Predict,
    "store": StoreCommand,
    "serve": Serve,
    "pack": Pack,
    "export": Export,
    "push": Push,
    "reproduce": Reproduce,
    "report": Report,
}
"""The class of each command: its fields are the options, and `run` runs it."""


def main() -> None:
    """Run the command line."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # ? for → if it cannot be encoded
    if not sys.argv[1:]:
        sys.argv.append("--help")
    if sys.argv[1:2] == ["reproduce"]:
        reproduce()
        return
    with command():
        if sys.argv[1:] == ["--version"]:
            print(f"tam {__version__}")
            return
        with usage_errors_in_a_line(COMMANDS):
            chosen = tyro.extras.subcommand_cli_from_dict(
                COMMANDS,
                prog="tam",
                description="Learn a new sequence task from a handful of examples.\n\n"
                "tam COMMAND --help lists the options of a command, tam --version prints the version.",
                config=(tyro.conf.OmitArgPrefixes,),
            )
        chosen.run()
