"""Run one job, from its tasks to its result; as a program, read the order from standard input."""

import json
import math
import signal
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from tam.config.config import Config
from tam.errors import OUT_OF_MEMORY, InterruptedRunError, UserError, report_out_of_memory
from tam.experiments.budget import gpu_seconds, step_times, steps_within
from tam.experiments.diary import Diary
from tam.experiments.job import Job
from tam.experiments.reference import paper_goal, seconds_to_paper
from tam.experiments.results import Folders, short_hash, status, versions, write_result
from tam.experiments.sharing import present
from tam.io import read_json
from tam.methods import make_method
from tam.tasks.task import metric_of
from tam.tasks.taskset import TaskSet
from tam.training.checkpoint import write_json
from tam.training.folder import LockedError, alone_in, writing_to
from tam.training.heap import keep_freed_memory
from tam.training.preflight import prepare
from tam.training.run import load_tasks, run_alone, start

_VALIDATIONS = 3
"""Approximate number of validations of a run with a budget."""


class Order(NamedTuple):
    """A job to run, with everything a process needs to know about it."""

    job: Job
    folders: Folders
    at_once: int
    """Number of jobs that may share the device."""
    started: float
    """The time at which the process was started."""
    needs_model: bool = False
    """Whether the trained model is needed, even if the result is known."""

    def to_json(self) -> str:
        """Convert to JSON."""
        return json.dumps([asdict(self.job), list(map(str, self.folders)), *self[2:]])

    @classmethod
    def from_json(cls, text: str) -> "Order":
        """Convert from JSON."""
        job, (results, runs, device), *rest = json.loads(text)
        return cls(Job(**job), Folders(Path(results), Path(runs), device), *rest)


class Ending(NamedTuple):
    """How a job ended; `claimed` means that another process is working on it."""

    kind: Literal["finished", "stopped", "claimed", "failed"]
    error: str = ""
    log: str = ""

    @property
    def out_of_memory(self) -> bool:
        """Whether it failed for lack of memory, perhaps only because others used the same GPU."""
        return self.error == OUT_OF_MEMORY

    @property
    def interrupted(self) -> bool:
        """Whether it failed because it was told to stop before or after its work, or was killed."""
        return self.error.startswith(("killed by", "KeyboardInterrupt"))


EXIT_CODES = {"finished": 0, "failed": 1, "stopped": 75, "claimed": 76}
"""The exit code of the program for each ending."""


def attempt(order: Order) -> Ending:
    """Work on a job in this process and return how it ended; let an interrupt pass."""
    try:
        with report_out_of_memory():
            work(order)
    except LockedError:
        return Ending("claimed")
    except InterruptedRunError:
        raise
    except UserError as error:
        return Ending("failed", str(error), f"error: {error}")
    except Exception as error:  # a bug: record it, and go on with the other jobs
        return Ending("failed", f"{type(error).__name__}: {error}".strip(), traceback.format_exc())
    return Ending("finished")


def work(order: Order) -> None:
    """Run a job, from its checkpoint if there is one, and write its result, unless it is done.

    Raises:
        LockedError: If another process is working on it.
    """
    folder = order.folders.run_folder(order.job)
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder):
        if order.needs_model or not status(order.job, order.folders).done:
            _work(order)


def _work(order: Order) -> None:
    job, folders = order.job, order.folders
    tasks = load_tasks(job.options)
    folder = folders.run_folder(job)
    diary = Diary(folder / "experiment.json", order.started)
    with present():
        config = _planned(order, job.config(folders.device), tasks, diary)
        setup = prepare(config, tasks)
        start(folder, config, job.options, resume=(folder / "config.json").exists())

        def log(record: Mapping[str, Any]) -> None:
            diary.note(record)
            if "valid" in record:
                print(_progress(job, config, record, diary), flush=True)

        try:
            with writing_to(folder):
                result = run_alone(setup, folder, log)
        finally:
            diary.write()
        diary.finish()
        write_result(job, folders, result | _facts(order, config, tasks, diary))
        if diary.step_times is None and diary.curve and config.device != "cpu":
            _time_steps(order, config, tasks, diary)  # with the result safe
            write_result(job, folders, result | _facts(order, config, tasks, diary))


def _planned(order: Order, config: Config, tasks: TaskSet, diary: Diary) -> Config:
    """The settings; with a budget, at most as many steps as fit into it."""
    if order.job.seconds is None:
        return config
    prepare(config, tasks)
    times = diary.step_times or _time_steps(order, config, tasks, diary)
    steps = steps_within(make_method(config), times, order.job.seconds)
    if steps >= config.training.steps:
        return config
    return config.override(steps=steps, validate_every=math.ceil(steps / _VALIDATIONS))


def _time_steps(order: Order, config: Config, tasks: TaskSet, diary: Diary) -> dict[int, float]:
    """Note the times of a step, measured once on this GPU for all seeds and hold-outs of a run."""
    trial = {"seed", "holdout"}
    what = {
        "config": {name: value for name, value in config.to_json().items() if name not in trial},
        "tasks": {name: value for name, value in order.job.options.items() if name not in trial},
        "device": "cpu" if config.device == "cpu" else torch.cuda.get_device_name(config.device),
    }
    file = order.folders.runs / f"step-times-{short_hash(what)}.json"
    if not file.exists():
        write_json(file, what | {"milliseconds": dict(step_times(config, tasks))})
    diary.step_times = {int(phase): ms for phase, ms in read_json(file)["milliseconds"].items()}
    diary.write()
    return diary.step_times


def _facts(order: Order, config: Config, tasks: TaskSet, diary: Diary) -> dict[str, Any]:
    """The facts that a job's result has in addition to those of any run."""
    job, name = order.job, order.job.options["name"]
    steps = diary.curve[-1]["step"] if diary.curve else 0
    seconds = reached = None
    if diary.step_times is not None and steps:
        seconds = gpu_seconds(config, diary.step_times, steps)
    if not tasks.primitives:
        reached = seconds_to_paper(diary.curve, metric_of(tasks.kind), paper_goal(name))
    return {
        **versions(job),
        "name": job.name,
        "group": job.group,
        "preset": job.preset,
        "budget_seconds": job.seconds,
        "steps": steps,
        "step_ms": None if seconds is None else round(1000 * seconds / steps, 3),
        "gpu_seconds": None if seconds is None else round(seconds, 1),
        "at_once": order.at_once,
        "processes": diary.processes,
        "first_step_seconds": diary.first_step_seconds,
        "wall_seconds": diary.wall_seconds,
        "seconds_to_paper": reached,
        "curve": diary.curve,
    }


def _progress(job: Job, config: Config, record: Mapping[str, Any], diary: Diary) -> str:
    scores = ", ".join(
        f"k={k} {one['accuracy']:.1%}"
        if job.options["name"] == "classification"
        else f"k={k} {one['perplexity'] or math.inf:.3f}"
        for k, one in record["valid"].items()
    )
    return f"{job.name}: step {record['step']} of {config.training.steps}, {diary.seconds():.0f} s: {scores}"


def main() -> None:
    """Run the job that is read from standard input."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C: stop after the current step
    order = Order.from_json(sys.stdin.read())
    keep_freed_memory()
    try:
        ending = attempt(order)
    except (InterruptedRunError, KeyboardInterrupt) as error:
        ending = Ending("stopped", log=f"stopped: {error}")
    print(ending.log, end="\n" if ending.log else "", file=sys.stderr)
    sys.exit(EXIT_CODES[ending.kind])


if __name__ == "__main__":
    main()
