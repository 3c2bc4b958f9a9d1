"""The paper's benchmarks by name: `tam.benchmark("classification", seed=0)`."""

import difflib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from tam.config.validate import check_integers, check_known
from tam.errors import SettingError, UserError, shown
from tam.tasks import cache
from tam.tasks.classification import CLASSES, ClassificationFamily
from tam.tasks.composition import compose
from tam.tasks.family import Family, Recipe, random_order
from tam.tasks.pathfinding import PathfindingFamily
from tam.tasks.rng import Rng
from tam.tasks.task import Task
from tam.tasks.taskset import TaskSet
from tam.tasks.transduction import TransductionFamily

VERSION = 2
"""Increased when the same options yield different tasks; part of the names of cached files."""

HOLDOUTS = 8
MOST_SHOTS, QUERY = 20, 500
"""Valid and test tasks have enough examples for a 20-shot support set and 500 queries."""

BenchmarkName = Literal["classification", "transduction", "pathfinding"]
Progress = Callable[[int, int], None]
"""Called with the number of tasks done and their total."""

_RANGES = {
    "seed": (0, 2**63 - 1),
    "holdout": (0, HOLDOUTS - 1),
    "n": (1, 100),
    "train": (1, 1_000_000),
    "valid": (1, 1_000_000),
    "test": (1, 1_000_000),
    "examples": (CLASSES, 100_000),
}


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions:
    """Everything that determines a benchmark, to the last example."""

    name: BenchmarkName
    """classification, transduction or pathfinding."""
    seed: int = 0
    """Seed of everything random."""
    compositional: bool = False
    """Give the primitives of every task; valid and test tasks have one that training never shows."""
    holdout: int | None = None
    """Which of the 8 draws of unseen primitives, by default 0; None unless compositional."""
    n: int | None = None
    """The largest parameter v, by default 11 (compositional: 15); None except in classification."""
    train: int | None = None
    """Number of training tasks, by default 500 (compositional: 5000)."""
    valid: int | None = None
    """Number of validation tasks, by default 16 (compositional: 100)."""
    test: int | None = None
    """Number of test tasks, by default 64 (compositional: 100)."""
    examples: int = 500
    """Number of examples of a training task."""

    def __post_init__(self) -> None:
        if self.name not in list(FAMILIES):
            close = difflib.get_close_matches(str(self.name), FAMILIES, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            names = ", ".join(FAMILIES)
            raise UserError(f"there is no benchmark {shown(self.name)}: it must be one of {names}{hint}")
        if not isinstance(self.compositional, bool):
            raise SettingError(f"compositional must be True or False: got {shown(self.compositional)}")
        defaults = (0, 15, 5000, 100, 100) if self.compositional else (0, 11, 500, 16, 64)
        for field, default in zip(("holdout", "n", "train", "valid", "test"), defaults, strict=True):
            if getattr(self, field) is None:
                object.__setattr__(self, field, default)
        check_integers(self, _RANGES)
        if not self.compositional:
            object.__setattr__(self, "holdout", None)
        if self.name != "classification":
            object.__setattr__(self, "n", None)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "BenchmarkOptions":
        """Convert from plain values; missing fields get their defaults, unknown ones are an error."""
        check_known(values, [field.name for field in fields(cls)], "a benchmark has")
        return cls(**values)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of train, valid and test tasks."""
        return self.train or 0, self.valid or 0, self.test or 0

    @property
    def test_examples(self) -> int:
        """Number of examples of a valid or test task."""
        return MOST_SHOTS * (CLASSES if self.name == "classification" else 1) + QUERY


@lru_cache(maxsize=4)
def _cached(family: Callable[..., Family], *args: Hashable, **kwargs: Hashable) -> Family:
    """Make or reuse a family of tasks: making one can take seconds, and all seeds and sizes share it."""
    return family(*args, **kwargs)


FAMILIES: dict[str, Callable[[BenchmarkOptions], Family]] = {
    "classification": lambda options: _cached(
        ClassificationFamily, options.n or 0, "outputs" if options.compositional else "classes"
    ),
    "transduction": lambda _: _cached(TransductionFamily),
    "pathfinding": lambda options: _cached(PathfindingFamily, waypoint=options.compositional),
}
"""The family of tasks that each benchmark draws from."""


def family_of(options: BenchmarkOptions) -> Family:
    """The family of tasks that a benchmark draws from."""
    return FAMILIES[options.name](options)


def benchmark(
    name: BenchmarkName, *, seed: int = 0, compositional: bool = False, use_cache: bool = True, **options: int
) -> TaskSet:
    """Make one of the paper's benchmarks; the same arguments give the same tasks on every machine.

    Args:
        name: `classification`, `transduction` or `pathfinding`.
        seed: Seed of everything random.
        compositional: Give the primitives of every task, and test on tasks with an unseen one.
        use_cache: Keep the set on disk, and read it from there the next time.
        **options: The other fields of `BenchmarkOptions`: holdout, n, train, valid, test, examples.

    Examples:
        >>> tasks = benchmark("transduction", train=3, valid=1, test=2)
        >>> tasks
        TaskSet of 3 train, 1 valid, 2 test tasks (transduction, 12 tokens)
    """
    given = {"name": name, "seed": seed, "compositional": compositional, **options}
    return make(BenchmarkOptions.of(given), use_cache)


def make(options: BenchmarkOptions, use_cache: bool = True, progress: Progress | None = None) -> TaskSet:
    """Make a benchmark, or read it from the cache."""
    given = {key: value for key, value in asdict(options).items() if value is not None}
    generate = partial(_generate, options, given, progress)
    return cache.kept(options.name, VERSION, given, generate) if use_cache else generate()


def draw_recipes(family: Family, options: BenchmarkOptions) -> dict[str, list[Recipe]]:
    """Draw the train, valid and test tasks of a benchmark from its family."""
    if options.holdout is not None:
        return compose(family, options.sizes, options.seed, options.holdout)
    everything = [np.arange(len(slot)) for slot in family.slots]
    drawn = random_order(family, everything, Rng("tasks", options.name, options.seed))
    ends = np.cumsum(options.sizes).tolist()
    if ends[-1] > len(drawn):
        raise UserError(
            f"train + valid + test must be at most {len(drawn)} for {options.name}: got {ends[-1]}"
        )
    train, valid, test = (drawn[start:end] for start, end in pairwise([0, *ends]))
    return {"train": train, "valid": valid, "test": test}


def _generate(options: BenchmarkOptions, given: dict[str, object], progress: Progress | None) -> TaskSet:
    family = family_of(options)
    splits: dict[str, list[Task]] = {"train": [], "valid": [], "test": []}
    made = 0
    for split, recipes in draw_recipes(family, options).items():
        count = options.examples if split == "train" else options.test_examples
        for number, recipe in enumerate(recipes):
            rng = Rng("examples", options.name, options.seed, repr(options.holdout), split, number)
            x, y = family.examples(recipe, count, rng)
            primitives = family.primitives(recipe) if options.compositional else ()
            splits[split].append(Task(family.title(recipe), family.vocabulary, x, y, primitives))
            made += 1
            if progress is not None:
                progress(made, sum(options.sizes))
    return TaskSet({split: tuple(tasks) for split, tasks in splits.items()}, family.vocabulary, given)
