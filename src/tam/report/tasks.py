"""Describe tasks and task sets as text."""

import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatch

import numpy as np

from tam.errors import UserError, counted
from tam.report.grid import draw_grids, letters
from tam.report.table import table
from tam.report.words import example_lines, value_words
from tam.tasks.advice import repeats
from tam.tasks.benchmark import BenchmarkOptions, draw_recipes, family_of
from tam.tasks.pathfinding import SIDE
from tam.tasks.task import Classes, Example, Sequences, Task
from tam.tasks.taskset import TaskSet

_MOST_PRIMITIVES = 12


def summary(tasks: TaskSet) -> str:
    """Summarise a task set in one line."""
    name = f"{tasks.options.get('name', tasks.kind)}{' (compositional)' if tasks.primitives else ''}"
    sizes = ", ".join(f"{len(members)} {split}" for split, members in tasks.splits.items())
    keys = ("seed", "holdout", "n", "path")
    made = " ".join(f"{key}={value}" for key, value in tasks.options.items() if key in keys)
    noun, tokens = "task" if len(tasks) == 1 else "tasks", counted(len(tasks.vocabulary), "token")
    return f"{name} · {sizes} {noun} · {tokens} · {made} · {tasks.fingerprint[:12]}"


def select(tasks: TaskSet, pattern: str | None, count: int) -> list[tuple[str, Task]]:
    """The first tasks whose name contains or matches the pattern, with their split; test tasks come first."""
    matching = [
        (split, task)
        for split in (*tasks.test_splits, "valid", "train")
        for task in tasks.splits.get(split, ())
        if pattern is None or pattern in task.name or fnmatch(task.name, pattern)
    ]
    if not matching:
        raise UserError(
            f"no task matches {pattern!r}; one task name is, for example, {next(iter(tasks)).name!r}"
        )
    return matching[:count]


def task_lines(tasks: TaskSet, split: str, task: Task, *, colour: bool) -> str:
    """Show a task with a few of its examples; path-finding as grids."""
    unseen = [name for name in task.primitives if tasks.train and name in tasks.unseen_primitives]
    note = f", unseen in training: {', '.join(unseen)}" if unseen else ""
    title = f"\x1b[1m{task.name}\x1b[0m" if colour else task.name
    head = f"{title}   ({split}, {counted(len(task), 'example')}{note})"
    if tasks.options.get("name") == "pathfinding":
        return f"{head}\n{_grids(task, colour)}"
    return f"{head}\n{example_lines(_varied(task, 5), indent=2)}"


def _varied(task: Task, count: int) -> list[Example]:
    """The first examples; for classification, one of every class first."""
    if not isinstance(task.y, Classes):
        return [task[row] for row in range(min(count, len(task)))]
    firsts = np.unique(task.y.ids, return_index=True)[1].tolist()
    rest = [row for row in range(min(count, len(task))) if row not in firsts]
    return [task[row] for row in (*firsts, *rest)[: max(count, len(firsts))]]


def _grids(task: Task, colour: bool) -> str:
    stops = [int(row) * SIDE + int(column) for row, column in re.findall(r"\((\d),(\d)\)", task.name)]
    examples = [task[row] for row in range(min(3, len(task)))]
    drawn = draw_grids([letters(example, stops) for example in examples], colour=colour)
    lines = [f"  {value_words(example.x)}  →  {value_words(example.y)}" for example in examples]
    return "\n".join([drawn, *lines])


def statistics(tasks: TaskSet) -> str:
    """Tables of sizes, lengths, class balance and counts by primitive, and a line on uniqueness."""
    return "\n\n".join([summary(tasks), _sizes(tasks), *_primitive_tables(tasks), _uniqueness(tasks)])


def _sizes(tasks: TaskSet) -> str:
    head = ["split", "tasks", "examples", "length of x", "length of y"]
    rows = []
    for split, members in tasks.splits.items():
        x = np.concatenate([task.x.lengths for task in members])
        y = [task.y.lengths for task in members if isinstance(task.y, Sequences)]
        answers = _spread(np.concatenate(y)) if y else _balance(members)
        rows.append([split, len(members), len(x), _spread(x), answers])
    if tasks.kind == "classification":
        head[-1] = "share of each class, smallest to largest over tasks"
    return table(head, rows)


def _spread(lengths: np.ndarray[tuple[int], np.dtype[np.integer]]) -> str:
    low, mean, high = lengths.min(), lengths.mean(), lengths.max()
    return str(low) if low == high else f"{low} to {high}, mean {mean:.1f}"


def _balance(members: Sequence[Task]) -> str:
    answers = [task.y for task in members if isinstance(task.y, Classes)]
    shares = [np.bincount(y.ids, minlength=len(y.labels)) / len(y.ids) for y in answers]
    low, high = min(share.min() for share in shares), max(share.max() for share in shares)
    return f"{low:.1%} to {high:.1%} of {max(map(len, shares))} classes"


def _primitive_tables(tasks: TaskSet) -> list[str]:
    """For each slot, the number of tasks of each split by primitive, the most frequent first."""
    if "name" not in tasks.options and not tasks.primitives:
        return []
    parts = {task.name: task.primitives or tuple(task.name.split(" → ")) for task in tasks}
    slots = max(len(names) for names in parts.values())
    return [_primitive_table(tasks, parts, slot) for slot in range(slots)]


def _primitive_table(tasks: TaskSet, parts: dict[str, tuple[str, ...]], slot: int) -> str:
    counts = {
        split: Counter(parts[task.name][slot] for task in members if slot < len(parts[task.name]))
        for split, members in tasks.splits.items()
    }
    total: Counter[str] = sum(counts.values(), Counter())
    ordered = sorted(total, key=lambda name: (-total[name], name))
    rows = [[name, *(count[name] for count in counts.values())] for name in ordered[:_MOST_PRIMITIVES]]
    more = len(ordered) - len(rows)
    text = table([f"slot {slot + 1}: {len(ordered)} primitives", *counts], rows)
    return f"{text}\n… and {more} more" if more else text


def _uniqueness(tasks: TaskSet) -> str:
    if "name" in tasks.options:
        options = BenchmarkOptions(**dict(tasks.options))  # pyright: ignore[reportArgumentType]
        family = family_of(options)
        drawn = [choice for split in draw_recipes(family, options).values() for choice in split]
        different = len({int(family.functions[choice]) for choice in drawn})
        return f"uniqueness: {different} of {len(tasks)} tasks differ from all others on some input"
    repeated, conflicts = repeats(tasks)
    return f"repeated inputs inside a task: {repeated}, with a different answer: {conflicts}"
