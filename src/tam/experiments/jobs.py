"""The list of jobs, the most valuable first.

The groups:
- reproduction: the preset `paper`, to its end.
- best: the preset `best`, four initialisations.
- time: `best` with fewer steps, alone on the GPU: how soon it is as good as the paper.
- levers: `best` with one lever moved, for the same GPU-seconds.
- table1: every method on every benchmark, 60 GPU-seconds each.
- table2: compositional tasks, 30 GPU-seconds each.
- quick: the preset `quick` on a CPU.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, NamedTuple, get_args

from tam.config.config import Config
from tam.experiments.job import Job, Values
from tam.methods import METHODS
from tam.tasks.benchmark import Name

BENCHMARKS: tuple[Name, ...] = get_args(Name)
SHOTS = (1, 5, 10, 20)
SEEDS = HOLDOUTS = range(4)
TABLE1_SECONDS, TABLE2_SECONDS = 60.0, 30.0

TIMED_STEPS: dict[Name, int] = {"classification": 1_500, "transduction": 3_000, "pathfinding": 1_000}
"""Outer steps of the group `time`."""
TIMED_VALIDATIONS = 5
"""How often these runs are validated."""

_OLD_RATE: dict[Name, float] = {"classification": 0.03, "transduction": 0.05, "pathfinding": 0.03}
"""The rate of z before it was raised."""


class Lever(NamedTuple):
    """A change to TAM: its settings without it, the decisive one first, and with it.

    Without `added`, it is tried only where `best` has it.
    """

    name: str
    without: Values
    added: Values | None = None


def levers(benchmark: Name) -> list[Lever]:
    """The levers that can be moved on a benchmark."""
    all_rows = {"support": "all", "small_share": None, "small_after": None, "small_sizes": None}
    found = [
        Lever("rate", {"inner_rate": _OLD_RATE[benchmark]}, {"inner_rate": 0.1}),
        Lever("warm", {"warm_share": 0.0}, {"warm_share": 0.5}),
        Lever("tokens", {"task_tokens": 1}, {"task_tokens": 2}),
        Lever("first", {"task_first": False}, {"task_first": True}),
        Lever("mask", {"x_mask": "causal"}),
        Lever("blank", {"learn_blank": False, "proposer": False}, {"learn_blank": True}),
        Lever("proposer", {"proposer": False}),
        Lever("small", all_rows, {"support": "mixed"}),
        Lever("starts", {"starts": 1}, {"starts": 8}),
    ]
    return [lever for lever in found if lever.name != "first" or benchmark != "classification"]


def all_jobs() -> list[Job]:
    """Every job, in order."""
    makers = (reproduction, best, time_to_quality, without_levers, table1, table2, quick)
    return [job for jobs_of in makers for job in jobs_of()]


def reproduction() -> Iterator[Job]:
    """The paper's settings, until validation has not improved for 5 000 outer steps."""
    values = {"precision": "bfloat16", "stop_after": 5_000, "steps": 20_000, "validate_every": 500}
    for name in BENCHMARKS:
        job = Job(name=f"tam-paper-{name}-0", group="reproduction", tasks={"name": name})
        yield replace(job, preset="paper", values=values)


def best() -> Iterator[Job]:
    """Our best settings; all benchmarks with one seed before the next seed."""
    for seed in SEEDS:
        for name in BENCHMARKS:
            yield Job(name=f"tam-best-{name}-{seed}", group="best", tasks={"name": name}, seed=seed)


def time_to_quality() -> Iterator[Job]:
    """Our best settings with a short schedule."""
    for name, steps in TIMED_STEPS.items():
        values = {"steps": steps, "validate_every": steps // TIMED_VALIDATIONS}
        yield Job(name=f"tam-time-{name}-0", group="time", tasks={"name": name}, values=values, alone=True)


def without_levers() -> Iterator[Job]:
    """One lever moved: taken from `best`, or added where `best` does not use it."""
    for name in BENCHMARKS:
        config = Config.from_preset("best", "tam", name)
        used = asdict(config.network) | asdict(config.settings)
        for lever in levers(name):
            setting, value = next(iter(lever.without.items()))
            moved, values = ("without", lever.without) if used[setting] != value else ("with", lever.added)
            if values is not None:
                yield Job(
                    name=f"tam-{moved}-{lever.name}-{name}-0",
                    group="levers",
                    tasks={"name": name},
                    values=values,
                    seconds_of=f"tam-best-{name}-0",
                )


def table1() -> Iterator[Job]:
    """Every method; MAML and CAVIA of second and of first order."""
    for benchmark in BENCHMARKS:
        for method, values in (
            *((name, {}) for name in METHODS),
            *((name, {"order": "first"}) for name in ("maml", "cavia")),
        ):
            what = f"{method}-first" if values else method
            for suffix, shots in shots_of(method, benchmark):
                yield Job(
                    name=f"{what}-table1-{benchmark}{suffix}-0",
                    group="table1",
                    tasks={"name": benchmark},
                    method=method,
                    values=values | shots,
                    seconds=TABLE1_SECONDS if Config.of(method).settings.trained else None,
                )


def table2() -> Iterator[Job]:
    """Compositional tasks; all models with one hold-out before the next."""
    for holdout in HOLDOUTS:
        for benchmark in BENCHMARKS:
            for what, method, values in (
                ("tam", "tam", {}),
                ("tam-untold", "tam", {"use_primitives": False}),
                ("cavia", "cavia", {}),
                ("multitask", "multitask", {}),
                *((name, name, {}) for name in ("matching", "snail") if holdout == 0),
            ):
                for suffix, shots in shots_of(method, benchmark):
                    yield Job(
                        name=f"{what}-table2-{benchmark}{suffix}-h{holdout}",
                        group="table2",
                        tasks={"name": benchmark, "compositional": True, "holdout": holdout},
                        method=method,
                        values=values | shots | {"supports": 1},  # of 100 validation tasks
                        seconds=TABLE2_SECONDS,
                    )


def quick() -> Iterator[Job]:
    """What `make run` trains."""
    yield Job(
        name="tam-quick-classification-0",
        group="quick",
        tasks={"name": "classification"},
        preset="quick",
        device="cpu",
        alone=True,
    )


def shots_of(method: str, benchmark: Name) -> list[tuple[str, dict[str, Any]]]:
    """The suffix of the name and the settings of each run of a method: one for all k, or one for each k."""
    if METHODS[method].classification_only and benchmark != "classification":
        return []
    if not Config.of(method).settings.per_shots:
        return [("", {})]
    return [(f"-k{k}", {"shots": (k,)}) for k in SHOTS]
