"""`tam reproduce`: `tam.experiments` parses its options, so that it also runs without tyro."""

import sys
from dataclasses import dataclass

from tam.cli.exit import command
from tam.experiments.command import main as run_experiments


@dataclass(frozen=True)
class Reproduce:
    """Train and score the runs behind the paper's tables and figures."""


def main() -> None:
    """Run the experiments named on the command line."""
    with command():
        run_experiments(sys.argv[2:])
