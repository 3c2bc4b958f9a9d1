"""Tune a method on a benchmark: as much of a GPU for every method, choices on validation tasks alone.

Run `python benchmarks/tune.py METHOD BENCHMARK --seconds 60`, once for each method and benchmark; it needs
only torch, numpy and safetensors. It writes results/tuning/METHOD-BENCHMARK.json after every candidate.

Every method has four candidates, each of which trains for a quarter of the seconds, its learning rate
falling to 0 over the steps that fit into them; budget.py says how seconds are counted.

Scores are means over k = 5 and 20, of accuracy for classes, of perplexity for sequences; a method with one
model per k is tuned at one k, 5 if not given. At each k the best validation counts, on the way or at the
end: a run with these settings keeps the weights of then. The validation tasks are the benchmark's own:
asked for more of them, it would take its test tasks.
"""

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import torch
from budget import COUNTED, Measure, Plan, Stopwatch, let_go, plan, train
from sharing import present

from tam.config import Config
from tam.ending import command
from tam.errors import UserError
from tam.evaluation import KShotScore, quality
from tam.plain_json import finite
from tam.provenance import now, provenance
from tam.tasks.benchmark import BenchmarkOptions, Name, make
from tam.tasks.taskset import TaskSet
from tam.training.checkpoint import write_json
from tam.training.checks import check_device
from tam.training.loop import DivergedError, Trainer
from tam.training.run import device_name

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "results" / "tuning"

Values = dict[str, Any]

_PAPER: Values = {
    "theta_update": "accumulated",
    "support": "all",
    "patience": 1,
    "inner_steps": 25,
    "rows": 300,
    "rate": 1e-3,
}
_SHORT: Values = {
    "theta_update": "interleaved",
    "patience": None,
    "inner_steps": 12,
    "rows": 128,
    "rate": 1e-3,
}
_MIXED: Values = _SHORT | {"support": "mixed", "small_after": 150}
_CAVIA_FASTER: Values = {"inner_rate": 3.0, "adapt_rates": (1.0, 3.0, 10.0)}
_FEW_ROWS: Values = {"episode_queries": 32, "rows": 128}
_MANY: Values = {"tasks": 64, "rows": 75}

GRID: dict[str, tuple[Values, ...]] = {
    "tam": (
        _PAPER,
        _SHORT | {"support": "all"},
        _MIXED,
        _MIXED | {"rate": 5e-4},
    ),
    "agnostic": ({"rate": 1e-3}, {"rate": 5e-4}, _MANY | {"rate": 1e-3}, _MANY | {"rate": 2e-3}),
    "multitask": (
        {"rate": 1e-3},
        _MANY | {"rate": 1e-3},
        _MANY | {"rate": 5e-4},
        _MANY | {"rate": 1e-3, "finetune": "embedding", "adapt_rates": (0.01, 0.03, 0.1)},
    ),
    "maml": (
        {"rate": 1e-3},
        {"rate": 1e-3, "inner_steps": 2},
        {"rate": 1e-3, "order": "first"},
        {"rate": 1e-3, "order": "first", "inner_steps": 2},
    ),
    "cavia": (
        {"rate": 1e-3},
        {"rate": 1e-3, "inner_steps": 5} | _CAVIA_FASTER,
        {"rate": 1e-3, "order": "first", "precision": "bfloat16"},
        {"rate": 1e-3, "order": "first", "precision": "bfloat16"} | _CAVIA_FASTER,
    ),
    "snail": (
        _FEW_ROWS | {"rate": 1e-3},
        _FEW_ROWS | {"rate": 5e-4},
        _FEW_ROWS | {"rate": 2e-3},
        _FEW_ROWS | {"rate": 1e-3, "tasks": 32, "episode_queries": 16},
    ),
    "matching": (
        {"rate": 1e-3},
        {"rate": 3e-4},
        {"rate": 1e-3, "episode_queries": 16, "rows": 128, "tasks": 32},
        {"rate": 2e-3, "episode_queries": 16, "rows": 128, "tasks": 32},
    ),
    "prototypical": (
        {"rate": 1e-3},
        {"rate": 3e-4},
        {"rate": 1e-3, "tasks": 32, "rows": 150},
        {"rate": 2e-3, "tasks": 32, "rows": 150},
    ),
    "nearest": ({"smoothing": 0.2}, {"smoothing": 0.4}, {"smoothing": 0.6}, {"smoothing": 0.8}),
}
"""The candidates of each method: what they change from the preset best."""

SHOTS, RUN_SHOTS = (5, 20), (1, 5, 10, 20)
"""The k of tuning, and of a run with the values that were chosen."""
CHEAP: Values = {"supports": 1, "queries": 100, "adapt_steps": (1, 2, 3, 5, 8, 12, 18, 25)}
"""The protocol of tuning; rates to adapt with are those of the preset or the candidate."""
MODERATE: Values = {"supports": 1, "queries": 100, "adapt_steps": (1, 2, 3, 5, 8, 12, 18, 25, 50)}
"""The protocol of such a run."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is tuned."""

    method: str
    benchmark: Name
    shots: int | None = None  # for a method with one model per k
    device: str = "cpu"
    preset: str = "best"

    def __post_init__(self) -> None:
        per_shots = Config.of(self.method).settings.per_shots
        if self.shots is None and per_shots:
            object.__setattr__(self, "shots", 5)
        if self.shots is not None and not per_shots:
            raise UserError(f"{self.method} has one model for all k: leave --shots out")

    @property
    def name(self) -> str:
        """What files are called."""
        return f"{self.method}-{self.benchmark}" + ("" if self.shots is None else f"-k{self.shots}")

    def config(self, values: Values, protocol: Values, shots: Sequence[int]) -> Config:
        """The preset with these values and this protocol, as far as they apply; one k if it is for one."""
        given = protocol | values | {"device": self.device, "shots": tuple(shots)}
        if self.shots is not None:
            given["shots"] = (self.shots,)
        if not Config.of(self.method).settings.by_steps:
            given.pop("adapt_steps", None)
        if self.device == "cpu":
            given["precision"] = "float32"
        return Config.from_preset(self.preset, self.method, self.benchmark, **given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("method", choices=list(GRID))
    parser.add_argument("benchmark", choices=get_args(Name))
    parser.add_argument("--seconds", type=float, default=60.0, help="of the GPU alone, of all candidates")
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder of the results")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--shots", type=int, help="for a method with one model per k: which k")
    parser.add_argument("--preset", default="best", help=argparse.SUPPRESS)
    given = parser.parse_args()
    with command():
        subject = Subject(
            method=given.method,
            benchmark=given.benchmark,
            shots=given.shots,
            device=given.device,
            preset=given.preset,
        )
        tasks = make(BenchmarkOptions(name=subject.benchmark))
        with present():
            tune(subject, tasks, given.seconds, Stopwatch(), given.out)


def tune(
    subject: Subject,
    tasks: TaskSet,
    seconds: float,
    measure: Measure,
    out: Path,
    grid: Sequence[Values] | None = None,
) -> dict[str, Any]:
    """Train every candidate for its share of the seconds, and choose the best on the validation tasks."""
    check_device(subject.device)
    if seconds <= 0:
        raise UserError(f"seconds are more than 0, not {seconds:g}")
    grid = GRID[subject.method] if grid is None else grid
    share = seconds / len(grid)
    metric = "accuracy" if tasks.kind == "classification" else "perplexity"
    facts: dict[str, Any] = {
        "what": "candidates of one method on one benchmark, as much of a GPU for each, scored on validation "
        "tasks",
        "command": "python benchmarks/tune.py",
        "method": subject.method,
        "benchmark": subject.benchmark,
        "shots": subject.shots,
        "preset": subject.preset,
        "tasks": dict(tasks.options),
        "fingerprint": tasks.fingerprint,
        "grid": list(grid),
        "seconds": seconds,
        "seconds_each": share,
        "counted": COUNTED,
        "metric": f"{metric} of the validation tasks, mean over k",
        "candidates": [],
        "chosen": None,
        "device": device_name(subject.device),
        "torch": torch.__version__,
        **provenance(),
    }
    out.mkdir(parents=True, exist_ok=True)
    for values in grid:
        config = subject.config(values, CHEAP, SHOTS)
        row = {"values": values, "seconds_asked": share}
        row |= candidate(config, tasks, share, measure, metric)
        facts["candidates"].append(row)
        facts["chosen"] = best(facts["candidates"], metric)
        facts["finished"] = now()
        write_json(out / f"{subject.name}.json", facts)
        print(f"{subject.name}: {_words(row)}", flush=True)
    if facts["chosen"] is None:
        raise UserError(f"{subject.name}: no candidate has a score")
    print(f"{subject.name}: chosen {facts['chosen']['values']}", flush=True)
    return facts


def candidate(
    config: Config, tasks: TaskSet, seconds: float, measure: Measure, metric: str
) -> dict[str, Any]:
    """How one candidate did: its time, its scores at each k and their mean, or why it has none."""
    started = time.monotonic()
    planned = Plan(0, 0.0)
    try:
        with tempfile.TemporaryDirectory() as folder:
            trainer = Trainer(config, tasks, Path(folder))
            if config.training.steps:
                planned = plan(trainer.method, measure(trainer), seconds)
            found = [*train(trainer, planned.steps), trainer.validate()]
            best_steps = {str(k): one.step for k, one in trainer.state.best.items()}
    except (DivergedError, torch.OutOfMemoryError) as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    finally:
        trainer = None
        let_go(config.device)
    scores = [min(at_k, key=lambda one: quality(one, tasks.kind)) for at_k in zip(*found, strict=True)]
    mean = statistics.mean(getattr(one, metric) for one in scores)
    return {
        "steps": planned.steps,
        "seconds": planned.seconds,
        "clock_seconds": round(time.monotonic() - started, 1),  # set-up and validation too
        "scores": {str(one.k): _plain(one) for one in scores},
        "best_steps": best_steps,
        "score": finite(mean),
    }


def _plain(score: KShotScore) -> dict[str, Any]:
    perplexity = finite(score.perplexity)
    return {"accuracy": score.accuracy, "perplexity": perplexity, **score.choice._asdict()}


def best(candidates: Sequence[dict[str, Any]], metric: str) -> dict[str, Any] | None:
    """The candidate with the best score, of equal ones that with the better other metric; None if none is."""
    scored = [row for row in candidates if row.get("score") is not None]

    def mean(row: dict[str, Any], name: str) -> float:
        values = [one[name] for one in row["scores"].values()]
        return math.inf if None in values else statistics.mean(values)

    def order(row: dict[str, Any]) -> tuple[float, float]:
        accuracy, perplexity = mean(row, "accuracy"), mean(row, "perplexity")
        return (-accuracy, perplexity) if metric == "accuracy" else (perplexity, -accuracy)

    return min(scored, key=order, default=None)


def _words(row: dict[str, Any]) -> str:
    values = ", ".join(f"{name} {value}" for name, value in row["values"].items())
    if "error" in row:
        return f"{values}: {row['error']}"
    at = ", ".join(
        f"k={k} {one['accuracy']:.3f}/{shown(one['perplexity'])}" for k, one in row["scores"].items()
    )
    return (
        f"{values}: {shown(row['score'])} ({at}), {row['steps']} steps, "
        f"{row['seconds']:.1f} s of the GPU alone, {row['clock_seconds']:.0f} s by the clock with all around"
    )


def shown(value: float | None) -> str:
    """A score as it is printed."""
    return "infinite" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
