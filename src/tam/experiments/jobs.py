"""The experiments: the paper's tables and figures, and ours, each a grid of runs.

A grid is models × benchmarks × k (for methods with one model per k) × trials: seeds, or hold-outs of
primitives. A run that two experiments need belongs to the first.

This module imports nothing heavy, since the command line is built from it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tam.config.config import Config
from tam.config.methods import settings_of
from tam.config.presets import BENCHMARKS
from tam.experiments.job import Job, Values

if TYPE_CHECKING:
    from tam.config.presets import Preset
    from tam.tasks.benchmark import BenchmarkName

SHOTS = (1, 5, 10, 20)
SEEDS = range(4)
_HOLDOUTS = range(8)

SECONDS, ABLATION_SECONDS = 20.0, 60.0
"""The most GPU-seconds per run. In Table 1 they are those of TAM with its best settings; the ablations get
more, since steps with adapters or an LSTM take ten times as long."""


class Entry(NamedTuple):
    """A row of a table: its name in the names of runs, its method, and its own settings."""

    name: str
    method: str
    values: Mapping[str, Any] = MappingProxyType({})


TABLE1 = (
    Entry("tam", "tam"),  # the runs of `best`
    Entry("agnostic", "agnostic"),
    Entry("multitask", "multitask"),
    Entry("maml", "maml"),
    Entry("cavia", "cavia"),
    Entry("snail", "snail"),
    Entry("matching", "matching"),
    # not in the paper
    Entry("prototypical", "prototypical"),
    Entry("nearest", "nearest"),
    Entry("maml-first", "maml", {"order": "first"}),
    Entry("cavia-first", "cavia", {"order": "first", "inner_steps": 10}),
)
"""All methods, for k-shot learning of new tasks."""

TABLE2 = (
    Entry("tam", "tam"),
    Entry("tam-untold", "tam", {"use_primitives": False}),
    Entry("cavia", "cavia"),
    Entry("multitask", "multitask"),
    Entry("matching", "matching"),
    Entry("snail", "snail"),
)
"""Methods for new tasks with one unseen primitive; "untold" TAM is given no primitives at all."""

_ONE_SEARCH = {
    "proposer": False,
    "starts": 1,
    "adapt_steps": (0, 1, 2, 3, 5, 8, 12, 18, 25, 50, 100, 200),
    "adapt_rates": (0.003, 0.01, 0.03, 0.1),
}
"""TAM without the parts of `best` that only work with tokens: the proposer proposes tokens."""

ABLATION = (
    Entry("tam-token", "tam", _ONE_SEARCH),
    Entry("tam-adapter", "tam", _ONE_SEARCH | {"conditioning": "adapter"}),
    Entry("tam-norm", "tam", _ONE_SEARCH | {"conditioning": "norm"}),
)
"""Where the task embedding enters: as a token, as the weights of adapters, or in the layer norms."""

ARCHITECTURE = (
    Entry("tam-lstm", "tam", _ONE_SEARCH | {"backbone": "lstm"}),
    Entry("multitask-lstm", "multitask", {"backbone": "lstm"}),
)
"""A bidirectional LSTM instead of the transformer, with alternating minimisation and with multitask
training. The transformer's rows reuse the token runs of the ablation and the multitask runs of Table 1."""

_INNER_STEPS = (1, 3, 6, 25)
"""T, the maximum number of updates of z per outer step; `best` has 12. Paper: more is better, up to 25."""
_ROWS = (16, 32, 64, 300)
"""N, examples per task in an outer step; `best` has 128 or 256. Paper: many more than k, 300."""
_TRAINING_TASKS = (20, 50, 100, 250)
"""Numbers of training tasks; the benchmarks have 500. Not in the paper."""

CPU_SEEDS = (1, 2)
CPU_VARIANTS = (
    Entry("tam-adapter", "tam", {"conditioning": "adapter"}),
    Entry("tam-norm", "tam", {"conditioning": "norm"}),
    Entry("tam-lstm", "tam", {"backbone": "lstm"}),
    Entry("multitask", "multitask"),
    Entry("multitask-lstm", "multitask", {"backbone": "lstm"}),
    *(Entry(f"tam-T{steps}", "tam", {"inner_steps": steps}) for steps in (1, 3, 25)),
    *(Entry(f"tam-N{rows}", "tam", {"rows": rows}) for rows in (16, 32, 128)),
)
"""Changes to the preset `quick`, which has T = 10 and N = 64, and its additional seeds."""

TIMED = ("multitask", "cavia", "tam")
"""The methods of the paper's timing table."""
MAPPED = {"tam": 1, "multitask": 0}
"""The methods whose task embeddings are mapped, with the seed of the run: TAM's is the pretrained model.
The paper maps only TAM."""

TIMED_STEPS: dict["BenchmarkName", int] = {
    "classification": 1_500,
    "transduction": 3_000,
    "pathfinding": 1_000,
}
"""Outer steps in the experiment `time`, whose runs are validated five times."""


def reproduction() -> Iterator[Job]:
    """The paper's settings, until validation has not improved for 5 000 outer steps."""
    values = {"precision": "bfloat16", "stop_after": 5_000, "steps": 20_000, "validate_every": 500}
    for name in BENCHMARKS:
        tasks = {"name": name}
        yield Job(f"tam-paper-{name}-0", "reproduction", tasks, preset="paper", values=values)


def best() -> Iterator[Job]:
    """Our best settings."""
    for seed in SEEDS:
        for name in BENCHMARKS:
            yield Job(f"tam-best-{name}-{seed}", "best", {"name": name}, seed=seed)


def time_to_quality() -> Iterator[Job]:
    """Our best settings with a short schedule."""
    for name, steps in TIMED_STEPS.items():
        values = {"steps": steps, "validate_every": steps // 5}
        yield Job(f"tam-time-{name}-0", "time", {"name": name}, values=values, alone=True)


def table1() -> Iterator[Job]:
    """Every method on every benchmark, with the budget of `best`; untrained methods have one seed only."""
    yield from best()
    for seed in SEEDS:
        peers = [model for model in TABLE1 if model.name != "tam"]
        models = [model for model in peers if seed == 0 or settings_of(model.method).trained]
        yield from _grid("table1", models, BENCHMARKS, seed=seed, seconds=None)


def table2() -> Iterator[Job]:
    """Compositional tasks; one support set for each of the 100 validation tasks."""
    for holdout in _HOLDOUTS:
        tasks = {"compositional": True, "holdout": holdout}
        yield from _grid("table2", TABLE2, BENCHMARKS, tasks=tasks, values={"supports": 1}, seconds=SECONDS)


def ablation() -> Iterator[Job]:
    """The conditionings, on classification as in the paper."""
    for seed in SEEDS:
        yield from _grid("ablation", ABLATION, ["classification"], seed=seed, seconds=ABLATION_SECONDS)


def architecture() -> Iterator[Job]:
    """The LSTM and the transformer, on classification as in the paper."""
    for seed in SEEDS:
        models = ARCHITECTURE
        yield from _grid("architecture", models, ["classification"], seed=seed, seconds=ABLATION_SECONDS)
    transformers = ("tam-token-ablation-classification-", "multitask-table1-classification-")
    yield from (job for job in (*ablation(), *table1()) if job.name.startswith(transformers))


def sweeps() -> Iterator[Job]:
    """TAM's best settings with one number changed, and unchanged with the same budget."""
    yield from _base()
    points = [
        *(Entry(f"tam-T{steps}", "tam", {"inner_steps": steps}) for steps in _INNER_STEPS),
        *(Entry(f"tam-N{rows}", "tam", {"rows": rows}) for rows in _ROWS),
    ]
    yield from _grid("sweeps", points, BENCHMARKS, seconds=SECONDS)
    for count in _TRAINING_TASKS:
        models = [Entry(f"tam-tasks{count}", "tam")]
        yield from _grid("sweeps", models, BENCHMARKS, tasks={"train": count}, seconds=SECONDS)


def timing() -> Iterator[Job]:
    """The runs of Table 1 whose time to the best model is compared."""
    stems = tuple(stem(what, "table1", name) for what in TIMED for name in BENCHMARKS)
    return (job for job in table1() if job.name.startswith(stems))


def embeddings() -> Iterator[Job]:
    """The runs whose task embeddings are mapped."""
    names = [f"{stem(what, 'table1', 'pathfinding')}-{seed}" for what, seed in MAPPED.items()]
    return (job for job in table1() if job.name in names)


def _base() -> Iterator[Job]:
    """TAM's best settings with the budget of sweeps and levers."""
    yield from _grid("levers", [Entry("tam-base", "tam")], BENCHMARKS, seconds=SECONDS)


def quick() -> Iterator[Job]:
    """The run that `make run` trains."""
    yield replace(_small("tam-quick-classification-0", Entry("tam", "tam")), group="quick", alone=True)


def on_a_cpu() -> Iterator[Job]:
    """The ablations, sweeps and levers at the size of `quick`; only `quick` itself has several seeds."""
    yield from quick()
    for seed in CPU_SEEDS:
        yield _small(f"tam-quick-classification-{seed}", Entry("tam", "tam"), seed=seed)
    moved = (Entry(name, "tam", values) for name, values in _moved("quick", "classification"))
    for model in (*CPU_VARIANTS, *moved):
        yield _small(f"{model.name}-cpu-classification-0", model)
    for count in _TRAINING_TASKS:
        yield _small(f"tam-tasks{count}-cpu-classification-0", Entry("tam", "tam"), train=count)


def _small(name: str, model: Entry, *, seed: int = 0, **options: int) -> Job:
    tasks, values = {"name": "classification", **options}, dict(model.values)
    return Job(name, "cpu", tasks, model.method, "quick", values, seed, device="cpu")


class Lever(NamedTuple):
    """A change to TAM, with the settings that undo it and those that add it.

    The first setting in `without` tells whether a preset uses the lever. Without `added`, it is only undone.
    """

    name: str
    title: str
    without: Values
    added: Values | None = None


_OLD_RATE: dict["BenchmarkName", float] = {"classification": 0.03, "transduction": 0.05, "pathfinding": 0.03}
"""The inner learning rates before they were raised."""


def levers(benchmark: "BenchmarkName") -> list[Lever]:
    """The levers that apply to a benchmark."""
    no_blank: Values = {"learn_blank": False, "proposer": False}
    all_rows: Values = {"support": "all", "small_share": None, "small_after": None, "small_sizes": None}
    found = [
        Lever("rate", "the larger rate of z", {"inner_rate": _OLD_RATE[benchmark]}, {"inner_rate": 0.1}),
        Lever("warm", "warm starts", {"warm_share": 0.0}, {"warm_share": 0.5}),
        Lever("tokens", "several task tokens", {"task_tokens": 1}, {"task_tokens": 2}),
        Lever("first", "z before x", {"task_first": False}, {"task_first": True}),
        Lever("mask", "attention within x in both directions", {"x_mask": "causal"}),
        Lever("blank", "θ learning at z = 0 too", no_blank, {"learn_blank": True}),
        Lever("proposer", "the proposer", {"proposer": False}),
        Lever("small", "small supports", all_rows, {"support": "mixed"}),
        Lever("starts", "several searches", {"starts": 1}, {"starts": 8}),
    ]
    return [lever for lever in found if lever.name != "first" or benchmark != "classification"]


def without_levers() -> Iterator[Job]:
    """TAM's best settings with one lever moved, and unmoved with the same budget."""
    yield from _base()
    for benchmark in BENCHMARKS:
        for name, values in _moved("best", benchmark):
            tasks = {"name": benchmark}
            yield Job(f"{name}-{benchmark}-0", "levers", tasks, values=values, seconds=SECONDS)


def _moved(preset: "Preset", benchmark: "BenchmarkName") -> Iterator[tuple[str, Values]]:
    """Move each lever once: undo it if the preset uses it, else add it."""
    config = Config.from_preset(preset, "tam", benchmark)
    used = asdict(config.network) | asdict(config.settings)
    for lever in levers(benchmark):
        setting, value = next(iter(lever.without.items()))
        if used[setting] != value:
            yield f"tam-without-{lever.name}", lever.without
        elif lever.added is not None:
            yield f"tam-with-{lever.name}", lever.added


class Experiment(NamedTuple):
    """A grid of runs, and a line about its purpose."""

    about: str
    jobs: Callable[[], Iterator[Job]]


EXPERIMENTS = {
    "reproduction": Experiment("TAM with the paper's settings, trained in full", reproduction),
    "best": Experiment("TAM with our best settings, four seeds", best),
    "time": Experiment("time until TAM is as good as the paper, alone on the GPU", time_to_quality),
    "levers": Experiment("best with one of our changes to TAM undone or added", without_levers),
    "table1": Experiment("the paper's Table 1: every method on every benchmark, four seeds", table1),
    "table2": Experiment("the paper's Table 2: compositional tasks, eight hold-outs", table2),
    "ablation": Experiment("the paper's Table 3: where the task embedding enters", ablation),
    "architecture": Experiment("the paper's Table 4: LSTM and transformer", architecture),
    "sweeps": Experiment("how many inner steps, examples and training tasks TAM needs", sweeps),
    "timing": Experiment("the paper's Table 5: time to the best model, from the runs of Table 1", timing),
    "embeddings": Experiment("the paper's Figure 1: a map of task embeddings, path-finding", embeddings),
    "quick": Experiment("the preset quick, on a CPU", quick),
    "cpu": Experiment("the ablations, sweeps and levers at the size of quick, on a CPU", on_a_cpu),
}
"""All experiments by name, the most valuable first."""


def all_jobs() -> list[Job]:
    """All jobs of all experiments, each once, in order."""
    jobs = (job for experiment in EXPERIMENTS.values() for job in experiment.jobs())
    return list({job.name: job for job in jobs}.values())


_CLASSIFICATION_ONLY = ("matching", "prototypical")


def _grid(
    group: str,
    models: Sequence[Entry],
    benchmarks: Sequence["BenchmarkName"],
    *,
    seed: int = 0,
    tasks: Values | None = None,
    values: Values | None = None,
    seconds: float | None,
) -> Iterator[Job]:
    """One trial of models × benchmarks × k, with these task options and settings.

    Without `seconds`, a run has the budget of `best` on its benchmark.

    Runs are named `MODEL-GROUP-BENCHMARK-SEED`, with `-kK` before the seed if there is a model for each k,
    and `hHOLDOUT` instead of the seed for compositional tasks.
    """
    options = tasks or {}
    trial = f"h{options['holdout']}" if "holdout" in options else str(seed)
    for benchmark in benchmarks:
        for model in models:
            trained = settings_of(model.method).trained
            for suffix, shots in shots_of(model.method, benchmark):
                yield Job(
                    name=f"{stem(model.name, group, benchmark)}{suffix}-{trial}",
                    group=group,
                    tasks={"name": benchmark, **options},
                    method=model.method,
                    values={**model.values, **shots, **(values or {})},
                    seed=seed,
                    seconds=seconds if trained else None,
                    seconds_of=f"tam-best-{benchmark}-0" if trained and seconds is None else None,
                )


def stem(model: str, group: str, benchmark: str) -> str:
    """The prefix of the names of a model's runs in a table.

    >>> stem("snail", "table1", "pathfinding"), stem("tam", "table1", "pathfinding")
    ('snail-table1-pathfinding', 'tam-best-pathfinding')
    """
    return f"{model}-{'best' if (model, group) == ('tam', 'table1') else group}-{benchmark}"


def shots_of(method: str, benchmark: "BenchmarkName") -> list[tuple[str, dict[str, Any]]]:
    """The name suffix and settings of each run of a method: one run for all k, or one per k."""
    if method in _CLASSIFICATION_ONLY and benchmark != "classification":
        return []
    if not settings_of(method).per_shots:
        return [("", {})]
    return [(f"-k{k}", {"shots": (k,)}) for k in SHOTS]
