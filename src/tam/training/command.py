"""`python -m tam run CONFIG --out FOLDER [--resume]`: what runs where nothing but the core is installed."""

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tam.errors import UserError
from tam.training.loop import InterruptedRunError
from tam.training.run import load_tasks, read_config, run, start


def main() -> None:
    """Run a config file."""
    parser = argparse.ArgumentParser(prog="python -m tam run", description="Train and evaluate one config.")
    parser.add_argument("run", choices=["run"], help=argparse.SUPPRESS)
    parser.add_argument("config", type=Path, help="a JSON file like the config.json of a run")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the run")
    parser.add_argument("--resume", action="store_true", help="take up a run that was stopped")
    arguments = parser.parse_args()
    try:
        config, source = read_config(arguments.config)
        start(arguments.out, config, source, resume=arguments.resume)
        result = run(config, load_tasks(source), arguments.out, PlainLog(config.training.steps))
    except UserError as error:
        sys.exit(f"error: {error}")
    except InterruptedRunError as error:
        sys.exit(f"{error}; take it up with --resume")
    print(json.dumps(result.get("scores", []), indent=1))


class PlainLog:
    """Prints a line every few seconds, and every validation."""

    def __init__(self, steps: int, every: float = 10.0) -> None:
        self._steps, self._every = steps, every
        self._shown = -every

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Show a record, or not."""
        now = time.monotonic()
        if "valid" in record:
            shown = ", ".join(
                f"k={k} {score['accuracy']:.1%} (perplexity {score['perplexity']:.2f})"
                for k, score in record["valid"].items()
            )
            print(f"step {record['step']}: valid {shown}", flush=True)
        elif now - self._shown >= self._every or record["step"] == self._steps:
            self._shown = now
            left = record["seconds"] / record["step"] * (self._steps - record["step"])
            print(
                f"step {record['step']} of {self._steps}: loss {record['loss']:.4f}, "
                f"{record['step'] / max(record['seconds'], 1e-9):.1f} steps/s, {left:.0f} s left",
                flush=True,
            )
