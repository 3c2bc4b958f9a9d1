"""`tam reproduce`, whose options are those of `tam.experiments`: it also runs where tyro is not installed."""

import sys
from dataclasses import dataclass

from tam.cli.exit import command
from tam.experiments.command import main as run_experiments


@dataclass(frozen=True)
class Reproduce:
    """Train and score the runs behind the paper's tables and figures."""


def main() -> None:
    """Run the experiments that the command line names."""
    with command():
        run_experiments(sys.argv[2:], prog="tam reproduce")
