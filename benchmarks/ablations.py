"""The runs behind the paper's tables, ablations and sweeps, each for as many seconds of a GPU alone.

`python benchmarks/ablations.py --list` prints their names. `python benchmarks/ablations.py NAME --seconds 60`
trains one, scores the test tasks by the k-shot protocol, with choices made on validation tasks, and writes
results/runs/NAME-0.json. It needs only torch, numpy and safetensors. Seconds are counted as in
tune.py: see budget.py.

A run is the preset best with what results/tuning has chosen for the method on the plain benchmark, and with
one thing changed:

- tuned: nothing.
- ablation, on classification: where the task embedding enters, or an LSTM in the place of the transformer.
- sweep, on classification: TAM with other numbers of inner steps, T, or of examples of a task in a step, N.
- compositional: tasks with primitives; `untold` is TAM that is not given them.

The runs `small` are ablations and sweeps with the preset quick, for a CPU: TAM's with `--device cpu
--train-steps 150`, and multitask's with 1650, as a step of theirs is one pass where TAM's is 11 unless T is
swept. The runs `long` are TAM's tuned ones under another name, to be trained for longer. The runs `best` and
`paper` are TAM as these presets have it, nothing tuned, the latter in bfloat16.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from budget import Measure, Plan, Stopwatch, let_go, plan, timed, train
from sharing import present
from tune import CHEAP, FOLDER, GRID, MODERATE, ROOT, RUN_SHOTS, Subject, Values, shown

from tam.config import Config
from tam.ending import command
from tam.errors import InterruptedRunError
from tam.files import read_json
from tam.methods import METHODS
from tam.tasks.benchmark import BenchmarkOptions, Name, make
from tam.tasks.taskset import TaskSet
from tam.training.checkpoint import write_json
from tam.training.loop import Trainer
from tam.training.run import check, run
from tam.training.saved import Saved

ADAPTER: Values = {"inner_rate": 0.003, "adapt_rates": (0.001, 0.003, 0.01)}
"""How TAM moves the weights of adapters, which are much smaller than the components of a token."""


class Run(NamedTuple):
    """What is trained, and what it changes from the tuned method, or from a preset of its own."""

    method: str
    benchmark: Name
    shots: int | None
    values: Values
    compositional: bool = False
    preset: str | None = None


def all_runs() -> dict[str, Run]:
    """Every run by its name."""
    found: dict[str, Run] = {}
    for benchmark in get_args(Name):
        for method in GRID:
            for k in shots_of(method, benchmark):
                found[run_name(method, "tuned", benchmark, k)] = Run(method, benchmark, k, {})
        for method in ("tam", "multitask", "snail", "matching", "cavia"):
            for k in shots_of(method, benchmark):
                name = run_name(method, "compositional", benchmark, k)
                found[name] = Run(method, benchmark, k, {}, compositional=True)
        untold = Run("tam", benchmark, None, {"use_primitives": False}, compositional=True)
        found[f"tam-compositional-{benchmark}-untold"] = untold
        paper = Run("tam", benchmark, None, {"precision": "bfloat16"}, preset="paper")
        found[run_name("tam", "paper", benchmark, None)] = paper
        found[run_name("tam", "best", benchmark, None)] = Run("tam", benchmark, None, {}, preset="best")
        found[run_name("tam", "long", benchmark, None)] = Run("tam", benchmark, None, {})
    for method in ("tam", "multitask"):
        small = Run(method, "classification", None, {}, preset="quick")
        found[f"{method}-small-classification"] = small
        for what, values in changes(method).items():
            found[f"{method}-ablation-classification-{what}"] = Run(method, "classification", None, values)
            found[f"{method}-small-classification-{what}"] = small._replace(values=values)
    small = found["tam-small-classification"]
    for what, values in sweep((1, 5, 10, 25), (20, 50, 100, 300)).items():
        found[f"tam-sweep-classification-{what}"] = Run("tam", "classification", None, values)
    for what, values in sweep((1, 5, 25), (16, 32, 128)).items():
        found[f"tam-small-classification-{what}"] = small._replace(values=values)
    return found


def changes(method: str) -> dict[str, Values]:
    """The ablations: where the task embedding enters, and an LSTM."""
    adapter = ADAPTER if method == "tam" else {}
    return {
        "adapter": {"conditioning": "adapter"} | adapter,
        "norm": {"conditioning": "norm"},
        "lstm": {"backbone": "lstm"},
    }


def sweep(steps: Sequence[int], rows: Sequence[int]) -> dict[str, Values]:
    """Numbers of inner steps T, and of examples of a task in a step N."""
    return {f"T{n}": {"inner_steps": n} for n in steps} | {f"N{n}": {"rows": n} for n in rows}


def shots_of(method: str, benchmark: str) -> tuple[int | None, ...]:
    """The k that a method has models of its own for; None for one of all; nothing where it does not apply."""
    if METHODS[method].classification_only and benchmark != "classification":
        return ()
    return RUN_SHOTS if Config.of(method).settings.per_shots else (None,)


def main() -> None:
    runs = all_runs()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name", nargs="?", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the names")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=float, default=60.0, help="of the GPU alone")
    length.add_argument("--train-steps", type=int, metavar="N", help="train for so many steps instead")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "runs", help="the folder of results")
    parser.add_argument("--save", type=Path, metavar="DIR", help="keep the finished run at DIR/NAME")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--preset", default="best", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.list:
        print("\n".join(runs))
        return
    if given.name not in runs:
        parser.error("give the NAME of a run; --list prints them")
    if given.seconds <= 0:
        parser.error(f"--seconds is more than 0, not {given.seconds:g}")
    if given.train_steps is not None and given.train_steps < 1:
        parser.error(f"--train-steps is at least 1, not {given.train_steps}")
    chosen = runs[given.name]
    with command(), tempfile.TemporaryDirectory() as folder:
        options = BenchmarkOptions(name=chosen.benchmark, compositional=chosen.compositional)
        config = config_of(chosen, given.device, given.preset)
        length = Plan(given.train_steps) if given.train_steps else given.seconds
        try:
            with present():
                result = make_run(config, make(options), length, Path(folder), Stopwatch())
        except InterruptedRunError as error:
            sys.exit(f"{error}; nothing is written")
        write_result(given.out, given.name, result)
        if given.save is not None:
            Saved.read(Path(folder), "cpu").write(given.save / given.name)
            write_json(given.save / given.name / "result.json", result)


def config_of(chosen: Run, device: str, preset: str) -> Config:
    """The settings of a run: those that were tuned on top of a preset, or its own preset, and its changes."""
    subject = Subject(
        method=chosen.method,
        benchmark=chosen.benchmark,
        shots=chosen.shots,
        device=device,
        preset=chosen.preset or preset,
    )
    values = chosen.values if chosen.preset else tuned(subject) | chosen.values
    # Compositional sets have many more validation tasks; the preset quick has a protocol for a CPU.
    protocol = {} if chosen.preset == "quick" else CHEAP if chosen.compositional else MODERATE
    return subject.config(values, protocol, RUN_SHOTS)


def make_run(
    config: Config, tasks: TaskSet, length: Plan | float, folder: Path, measure: Measure
) -> dict[str, Any]:
    """Train, for so many seconds or as planned, and score the test tasks, in an empty folder."""
    check(config, tasks)
    trainer = Trainer(config, tasks, folder)
    if config.training.steps == 0:
        planned = Plan(0, 0.0)
    elif not isinstance(length, Plan):
        planned = plan(trainer.method, measure(trainer), length)
    elif config.device == "cpu":
        planned = length
    else:
        planned = timed(trainer.method, measure(trainer), length.steps)
    if steps := planned.steps:
        config = config.override(steps=steps, validate_every=steps, checkpoint_every=steps)
        check(config, tasks)
        trainer.config = config
    train(trainer, planned.steps)
    print(f"{planned.steps} steps, {trainer.state.seconds:.0f} s by the clock", flush=True)
    trainer.write_checkpoint()
    del trainer
    let_go(config.device)
    return finish(config, tasks, folder, planned)


def finish(config: Config, tasks: TaskSet, folder: Path, planned: Plan) -> dict[str, Any]:
    """The result of a run whose folder has a checkpoint of its last step: validated, and scored on test.

    Its `seconds` are by the clock, its `gpu_seconds` those of the GPU alone, if they are known.
    """
    result = run(config, tasks, folder, lambda _: None)
    return result | ({} if planned.seconds is None else {"gpu_seconds": round(planned.seconds, 1)})


def write_result(folder: Path, name: str, result: dict[str, Any]) -> None:
    """Write the result of a run, and say what it is."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}-{result['config']['seed']}.json"
    write_json(file, result)
    for score in result["scores"]:
        print(f"{name}: k={score['k']} {score['accuracy']:.3f}/{shown(score['perplexity'])}", flush=True)
    print(f"written: {file}", flush=True)


def run_name(method: str, what: str, benchmark: str, k: int | None) -> str:
    """What a run is called."""
    return f"{method}-{what}-{benchmark}" + ("" if k is None else f"-k{k}")


def tuned(subject: Subject) -> Values:
    """What was chosen for a method on a benchmark: at this k, else at 5; nothing where it was not tuned."""
    names = [subject.name, f"{subject.method}-{subject.benchmark}-k5"]
    for file in (FOLDER / f"{name}.json" for name in names):
        if file.exists() and (found := read_json(file)["chosen"]) is not None:
            return found["values"]
    return {}


if __name__ == "__main__":
    main()
