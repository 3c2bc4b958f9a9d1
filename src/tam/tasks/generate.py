"""`tam.generate`: tasks made by random programs, as a prior for tasks of your own."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from itertools import islice
from typing import Any, Literal

from tam.config.validate import check_integers, check_known
from tam.errors import SettingError, UserError, shown
from tam.tasks import cache
from tam.tasks.benchmark import Progress
from tam.tasks.lists.inputs import Limits
from tam.tasks.lists.programs import draw_programs
from tam.tasks.splits import draw_splits
from tam.tasks.task import Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary

VERSION = 1
"""Increased when the same options yield different tasks; part of the names of cached files."""

Generator = Literal["lists"]

RANGES = {
    "tasks": (3, 1_000_000),
    "examples": (2, 10_000),
    "values": (2, 10_000),
    "shortest": (0, 1_000),
    "longest": (1, 1_000),
    "longest_answer": (1, 1_000),
    "seed": (0, 2**63 - 1),
}
"""The smallest and the largest value of each option."""


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """Everything that determines generated tasks, to the last example."""

    generator: Generator = "lists"
    """The generator: lists, for programs on lists of integers."""
    tasks: int = 2_000
    """Number of tasks; each is a different function."""
    examples: int = 32
    """Number of examples of each task."""
    values: int = 100
    """Numbers are from 0 to values - 1."""
    shortest: int = 0
    """Fewest numbers in an input."""
    longest: int = 10
    """Most numbers in an input."""
    longest_answer: int = 15
    """Most numbers in an answer."""
    seed: int = 0
    """Seed of everything random."""

    def __post_init__(self) -> None:
        if self.generator != "lists":
            raise UserError(f"there is no generator {shown(self.generator)}: it must be lists")
        check_integers(self, RANGES)
        if self.shortest > self.longest:
            raise SettingError(
                f"shortest must be at most longest: got shortest={self.shortest}, longest={self.longest}"
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "GenerateOptions":
        """Convert from plain values; missing fields get their defaults, unknown ones are an error."""
        check_known(values, [field.name for field in fields(cls)], "generated tasks have")
        return cls(**values)

    @property
    def limits(self) -> Limits:
        """The limits on inputs and answers."""
        return Limits(self.values, self.shortest, self.longest, self.longest_answer)


def generate(generator: Generator = "lists", *, use_cache: bool = True, **options: int) -> TaskSet:
    """Make tasks by random programs; the same arguments give the same tasks on every machine.

    `lists`: every task is a different function on lists of integers, randomly composed of parts such as
    sorting, slicing, filtering, arithmetic, counting and conditions.

    Args:
        generator: `lists`.
        use_cache: Keep the set on disk, and read it from there the next time.
        **options: The other fields of `GenerateOptions`: tasks, examples, values, shortest, longest,
            longest_answer, seed.

    Examples:
        >>> tasks = generate(tasks=10)
        >>> tasks
        TaskSet of 8 train, 1 valid, 1 test tasks (transduction, 100 tokens)
        >>> tasks.train[0].name
        'all but the first: (rotate right by 1)'
    """
    return make_generated(GenerateOptions.of({"generator": generator, **options}), use_cache)


def make_generated(
    options: GenerateOptions, use_cache: bool = True, progress: Progress | None = None
) -> TaskSet:
    """Make generated tasks, or read them from the cache; their splits are drawn, 80 : 10 : 10."""
    generate = partial(_generate, options, progress)
    return cache.kept(options.generator, VERSION, asdict(options), generate) if use_cache else generate()


def _generate(options: GenerateOptions, progress: Progress | None) -> TaskSet:
    vocabulary, size = Vocabulary(range(options.values)), options.values
    made: list[Task] = []
    for program in islice(draw_programs(options.limits, options.examples, options.seed), options.tasks):
        x, y = (Sequences.from_lists(rows, size) for rows in zip(*program.examples, strict=True))
        made.append(Task(program.text, vocabulary, x, y))
        if progress is not None:
            progress(len(made), options.tasks)
    if len(made) < options.tasks:
        raise UserError(
            f"tasks must be about {len(made)} or fewer with these values, lengths and examples: got "
            f"{options.tasks}"
        )
    split_of = draw_splits([task.name for task in made], options.seed)
    splits = {
        split: tuple(task for task in made if split_of[task.name] == split)
        for split in ("train", "valid", "test")
    }
    return TaskSet(splits, vocabulary, asdict(options))
