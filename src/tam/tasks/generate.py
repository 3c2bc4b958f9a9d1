"""`tam.generate`: tasks made by random programs, as a prior for tasks of your own."""

from dataclasses import asdict
from functools import partial
from itertools import islice

from tam.config.generated import GenerateOptions, Generator
from tam.errors import UserError
from tam.tasks import cache
from tam.tasks.benchmark import Progress
from tam.tasks.lists.inputs import ListLimits
from tam.tasks.lists.programs import draw_programs
from tam.tasks.splits import draw_splits
from tam.tasks.task import Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary

GENERATOR_VERSION = 1
"""Increased when the same options yield different tasks; part of the names of cached files."""


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
    if not use_cache:
        return generate()
    return cache.kept(options.generator, GENERATOR_VERSION, asdict(options), generate)


def _generate(options: GenerateOptions, progress: Progress | None) -> TaskSet:
    vocabulary, size = Vocabulary(range(options.values)), options.values
    made: list[Task] = []
    limits = ListLimits(options.values, options.shortest, options.longest, options.longest_answer)
    for program in islice(draw_programs(limits, options.examples, options.seed), options.tasks):
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
