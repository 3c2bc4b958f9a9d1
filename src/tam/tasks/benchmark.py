"""The paper's benchmarks by name: `tam.benchmark("classification", seed=0)`."""

import difflib
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Literal, get_args

import numpy as np

from tam.errors import SettingError, UserError
from tam.tasks import cache
from tam.tasks.classification import CLASSES, ClassificationFamily
from tam.tasks.composition import compose
from tam.tasks.draws import Draws
from tam.tasks.family import Choice, Family, race
from tam.tasks.pathfinding import PathfindingFamily
from tam.tasks.task import Task
from tam.tasks.taskset import TaskSet
from tam.tasks.transduction import TransductionFamily

VERSION = 2
"""Raised when the same options would give other tasks: part of the name of cached files."""

HOLDOUTS = 8
MOST_SHOTS, QUERY = 20, 500
"""Valid and test tasks have examples for a support set of 20 shots and a query set of 500."""

Name = Literal["classification", "transduction", "pathfinding"]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions:
    """What fixes a benchmark to the last example."""

    name: Name
    """classification, transduction or pathfinding."""
    seed: int = 0
    """Everything random follows from it."""
    compositional: bool = False
    """Give the primitives of every task; valid and test tasks have one that training never shows."""
    holdout: int | None = None
    """Which of the 8 draws of unseen primitives; compositional only, 0 if not given."""
    n: int | None = None
    """The largest parameter v; classification only, 11 (compositional: 15) if not given."""
    train: int | None = None
    """How many training tasks: 500, compositional 5000 if not given."""
    valid: int | None = None
    """How many validation tasks: 16, compositional 100 if not given."""
    test: int | None = None
    """How many test tasks: 64, compositional 100 if not given."""
    examples: int = 500
    """How many examples a training task has."""

    def __post_init__(self) -> None:
        if self.name not in get_args(Name):
            close = difflib.get_close_matches(str(self.name), get_args(Name), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise UserError(f"there is no benchmark {self.name!r}: it is one of {list(get_args(Name))}{hint}")
        if not isinstance(self.compositional, bool):
            raise SettingError(f"compositional is True or False, not {self.compositional!r}")
        if self.holdout is not None and not self.compositional:
            raise SettingError("holdout has no effect unless compositional is set")
        if self.n is not None and self.name != "classification":
            raise SettingError(f"n has no effect on {self.name}: only classification has it")
        defaults = (0, 15, 5000, 100, 100) if self.compositional else (None, 11, 500, 16, 64)
        if self.name != "classification":
            defaults = (defaults[0], None, *defaults[2:])
        for field, default in zip(("holdout", "n", "train", "valid", "test"), defaults, strict=True):
            if getattr(self, field) is None:
                object.__setattr__(self, field, default)
        self._check("seed", 0, 2**63 - 1)
        self._check("holdout", 0, HOLDOUTS - 1)
        self._check("n", 1, 100)
        self._check("examples", CLASSES, 100_000)
        for field in ("train", "valid", "test"):
            self._check(field, 1, 1_000_000)

    def _check(self, field: str, low: int, high: int) -> None:
        value = getattr(self, field)
        if value is None and field in ("holdout", "n"):  # where they have no effect
            return
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise SettingError(f"{field} is an integer from {low} to {high}, not {value!r}")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of train, valid and test tasks."""
        return self.train or 0, self.valid or 0, self.test or 0

    @property
    def test_examples(self) -> int:
        """How many examples a valid or test task has."""
        return MOST_SHOTS * (CLASSES if self.name == "classification" else 1) + QUERY


def family_of(options: BenchmarkOptions) -> Family:
    """The family of tasks that a benchmark draws from."""
    if options.name == "classification":
        return ClassificationFamily(options.n or 0, "outputs" if options.compositional else "classes")
    if options.name == "transduction":
        return TransductionFamily()
    return PathfindingFamily(waypoint=options.compositional)


def benchmark(
    name: Name, *, seed: int = 0, compositional: bool = False, use_cache: bool = True, **options: int
) -> TaskSet:
    """Make one of the paper's benchmarks; the same arguments give the same tasks on every machine.

    Args:
        name: `classification`, `transduction` or `pathfinding`.
        seed: everything random follows from it.
        compositional: give the primitives of every task, and test on tasks with an unseen one.
        use_cache: keep the set on disk, and read it from there the next time.
        **options: the other fields of `BenchmarkOptions`: holdout, n, train, valid, test, examples.

    Examples:
        >>> tasks = benchmark("transduction", train=3, valid=1, test=2)
        >>> tasks
        TaskSet of 3 train, 1 valid, 2 test tasks (transduction, 12 tokens)
    """
    known = {field.name for field in fields(BenchmarkOptions)}
    for option in options:
        if option not in known:
            close = difflib.get_close_matches(option, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise UserError(f"a benchmark has no option {option!r}: the options are {sorted(known)}{hint}")
    return make(BenchmarkOptions(name=name, seed=seed, compositional=compositional, **options), use_cache)


def make(options: BenchmarkOptions, use_cache: bool = True, progress: Progress | None = None) -> TaskSet:
    """Make a benchmark, or read it from the cache.

    `progress` is told how many tasks are made, of how many.
    """
    given = {key: value for key, value in asdict(options).items() if value is not None}
    if not use_cache:
        return _generate(options, given, progress)
    file = cache.path_of(options.name, {**given, "version": VERSION})
    kept = cache.read(file, given)
    if kept is None:
        kept = _generate(options, given, progress)
        cache.write(file, kept)
    return kept


def choices(family: Family, options: BenchmarkOptions) -> dict[str, list[Choice]]:
    """Which tasks of the family are train, valid and test tasks."""
    if options.holdout is not None:
        return compose(family, options.sizes, options.seed, options.holdout)._asdict()
    everything = tuple(np.arange(len(slot)) for slot in family.slots)
    drawn = race(family, everything, Draws("tasks", options.name, options.seed))
    train, valid, test = options.sizes
    if (asked := train + valid + test) > len(drawn):
        raise UserError(f"{asked} tasks were asked for, but {options.name} has {len(drawn)}")
    cuts = {"train": slice(train), "valid": slice(train, train + valid), "test": slice(train + valid, asked)}
    return {split: drawn[cut] for split, cut in cuts.items()}


def _generate(options: BenchmarkOptions, given: dict[str, object], progress: Progress | None) -> TaskSet:
    family = family_of(options)
    splits: dict[str, list[Task]] = {"train": [], "valid": [], "test": []}
    made = 0
    for split, drawn in choices(family, options).items():
        count = options.examples if split == "train" else options.test_examples
        for number, choice in enumerate(drawn):
            key = (options.name, options.seed, repr(options.holdout), split, number)
            draws = Draws("examples", *key)
            splits[split].append(_task(family, choice, count, draws, options.compositional))
            made += 1
            if progress is not None:
                progress(made, sum(options.sizes))
    return TaskSet({split: tuple(tasks) for split, tasks in splits.items()}, family.vocabulary, given)


def _task(family: Family, choice: Choice, count: int, draws: Draws, compositional: bool) -> Task:
    x, y = family.examples(choice, count, draws)
    names = tuple(slot[place] for slot, place in zip(family.slots, choice, strict=True))
    return Task(family.title(choice), family.vocabulary, x, y, names if compositional else ())
