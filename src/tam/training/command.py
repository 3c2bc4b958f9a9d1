"""`python -m tam run CONFIG --out FOLDER [--resume]`: what runs where nothing but the core is installed."""

import argparse
import json
import sys
from pathlib import Path

from tam.errors import UserError
from tam.training.log import TrainingLog
from tam.training.loop import InterruptedRunError
from tam.training.run import check, load_tasks, read_config, run, start


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
        tasks = load_tasks(source)
        check(config, tasks)
        start(arguments.out, config, source, resume=arguments.resume)
        with TrainingLog(config.training.steps) as log:
            result = run(config, tasks, arguments.out, log)
    except UserError as error:
        sys.exit(f"error: {error}")
    except InterruptedRunError as error:
        sys.exit(f"{error}; take it up with --resume")
    except KeyboardInterrupt:
        sys.exit(130)
    if result:  # of several processes, one has it
        print(json.dumps(result["scores"], indent=1))
