"""`python -m tam run CONFIG --out FOLDER [--resume]`: needs only torch, numpy and safetensors."""

import argparse

from tam.cli.exit import command, hint_resume
from tam.io import json_text, path_of
from tam.training.log import TrainingLog
from tam.training.preflight import prepare
from tam.training.run import load_tasks, read_config, run, start


def main() -> None:
    """Run a config file."""
    parser = argparse.ArgumentParser(prog="python -m tam run", description="Train and evaluate one config.")
    parser.add_argument("run", choices=["run"], help=argparse.SUPPRESS)
    parser.add_argument("config", help="a JSON file like the config.json of a run")
    parser.add_argument("--out", required=True, help="a new folder for the run, or the one to continue")
    parser.add_argument("--resume", action="store_true", help="continue a run that was stopped")
    with command():
        arguments = parser.parse_args()
        file, out = path_of(arguments.config, "config"), path_of(arguments.out, "--out")
        config, source = read_config(file)
        training, setup = config.training, prepare(config, load_tasks(source, file=file))
        start(out, setup.config, source, resume=arguments.resume)
        with hint_resume(), TrainingLog(training.steps, training.max_seconds) as log:
            result = run(setup, out, log)
        if result:  # only the first of several processes has it
            print(json_text(result["scores"], indent=1))
