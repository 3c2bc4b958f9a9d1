"""_Facts about the benchmarks for the documentation: counts, sizes and ceilings.

Run `python -m tam.experiments.task_facts`; it writes results/tasks.json, in minutes.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from tam.provenance import provenance
from tam.tasks.benchmark import (
    HOLDOUTS,
    VERSION,
    BenchmarkName,
    BenchmarkOptions,
    draw_recipes,
    family_of,
    make,
)
from tam.tasks.ceiling import CEILING_SHOTS, ceiling
from tam.tasks.classification import ClassificationFamily, Same
from tam.tasks.composition import HELD_OUT, hold_out, is_new, one_unseen
from tam.tasks.family import Family, Recipe, pool
from tam.tasks.integers import INPUTS
from tam.tasks.task import Classes, Integers, Sequences, Task, metric_of
from tam.training.checkpoint import write_json

SUPPORTS, QUERIES = 4, 32

SHOWN = (
    "tam tasks classification --show 2",
    "tam tasks transduction --show 2",
    "tam tasks pathfinding --show 1",
    "tam tasks pathfinding --compositional --show 1",
    "tam tasks classification --stats",
)
"""Commands whose output is shown in the documentation."""

_Facts = dict[str, Any]


def main() -> None:
    """Compute the facts and write them."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter).parse_args()
    started = time.monotonic()
    n11 = ClassificationFamily(11, "outputs")
    facts: _Facts = {
        "what": "counts, sizes and ceilings of the benchmarks",
        "command": "python -m tam.experiments.task_facts",
        "benchmark_version": VERSION,
        **provenance(),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "device": "cpu, 1 process",
        "inputs": INPUTS,
        "held_out": HELD_OUT,
        "ceiling": {"shots": list(CEILING_SHOTS), "supports": SUPPORTS, "queries": QUERIES},
        "classification_families": [
            classification_family(n, same) for n in (5, 11, 15) for same in get_args(Same)
        ],
        "classification_n11_holdouts": [
            len(training_functions(n11, 0, holdout)) for holdout in range(HOLDOUTS)
        ],
        "sets": {},
    }
    for compositional in (False, True):
        for name in get_args(BenchmarkName):
            key = f"{name}{' compositional' if compositional else ''}"
            facts["sets"][key] = benchmark_set(BenchmarkOptions(name=name, compositional=compositional))
            print(f"{time.monotonic() - started:6.0f} s  {key}", flush=True)
    facts["shown"] = {line: output(line) for line in SHOWN}
    facts["seconds"] = round(time.monotonic() - started)
    write_json(Path("results/tasks.json"), facts)


def classification_family(n: int, same: Same) -> _Facts:
    """The counts of classification with n, and the number of inputs of the rarest class of any task."""
    family = ClassificationFamily(n, same)
    smallest = int(family.sizes[family.functions >= 0].min())
    return {"n": n, "same": same, **counts(family), "smallest_class": smallest}


def counts(family: Family) -> _Facts:
    """Count primitives, choices of primitives, choices that are tasks, and different tasks."""
    tasks = family.functions[family.functions >= 0]
    return {
        "primitives": [len(slot) for slot in family.slots],
        "choices": int(family.functions.size),
        "choices_that_are_tasks": len(tasks),
        "different_tasks": len(np.unique(tasks)),
    }


def benchmark_set(options: BenchmarkOptions) -> _Facts:
    """The sizes, counts and ceiling of one task set."""
    family = family_of(options)
    tasks = make(options)
    facts: _Facts = {
        "options": {key: value for key, value in asdict(options).items() if value is not None},
        "fingerprint": tasks.fingerprint,
        "tokens": len(family.vocabulary),
        "tasks": {split: len(members) for split, members in tasks.splits.items()},
        "examples": {split: len(members[0]) for split, members in tasks.splits.items()},
        **counts(family),
    }
    if options.name == "pathfinding":
        facts["path_cells"] = lengths(list(tasks))
    if isinstance(family, ClassificationFamily):
        drawn = draw_recipes(family, options)
        classes = [family.sizes[choice] for split in drawn.values() for choice in split]
        facts["smallest_class_drawn"] = int(np.min(classes))
        if not options.compositional:
            facts["near_equal_test_tasks"] = near_equal(family, drawn["train"], tasks.test)
    if options.compositional:
        facts["unseen_primitives"] = [len(folders) for folders in hold_out(family, options.seed, 0).unseen]
        facts["holdouts"] = [holdout_facts(family, options, holdout) for holdout in range(HOLDOUTS)]
    scores = ceiling(options, CEILING_SHOTS, SUPPORTS, QUERIES)
    facts["metric"] = metric_of(options.name)
    facts["ceiling"] = {str(k): round(score, 4) for k, score in scores.items()}
    return facts


def near_equal(family: Family, train: list[Recipe], test: Iterable[Task]) -> int:
    """Count the test tasks that agree with some training task on all of their own examples."""
    return sum(agrees_with_any(family, train, task) for task in test)


def agrees_with_any(family: Family, others: list[Recipe], task: Task) -> bool:
    """Whether one of `others` gives every example of a classification task its class."""
    assert isinstance(task.y, Classes)
    left = np.array(others)
    for rows in np.array_split(np.arange(len(task)), 20):
        answers = family.answers(left, task.x.ids[rows].astype(np.int64)).y[:, :, 0]
        left = left[(answers == task.y.ids[rows]).all(1)]
        if not len(left):
            return False
    return True


def lengths(tasks: list[Task]) -> _Facts:
    """Smallest, mean and largest number of tokens of all answers."""
    all_lengths = np.concatenate([task.y.lengths for task in tasks if isinstance(task.y, Sequences)])
    return {
        "min": int(all_lengths.min()),
        "mean": round(float(all_lengths.mean()), 2),
        "max": int(all_lengths.max()),
        "paths": len(all_lengths),
    }


def training_functions(family: Family, seed: int, holdout: int) -> Integers:
    """The different tasks made only of seen primitives."""
    return np.unique(pool(family, hold_out(family, seed, holdout).seen).functions)


def holdout_facts(family: Family, options: BenchmarkOptions, holdout: int) -> _Facts:
    """Count the tasks to draw from: for training, and for testing by the slot of the unseen primitive."""
    train = training_functions(family, options.seed, holdout)
    parts = hold_out(family, options.seed, holdout)
    new = is_new(family, parts)
    held = replace(options, holdout=holdout)
    drawn = draw_recipes(family, held)["train"]
    pools = [pool(family, allowed) for allowed in one_unseen(parts, drawn)]
    members = [tuple(every.recipes.T) for every in pools]
    facts: _Facts = {
        "train": len(train),
        "test_by_unseen_slot": [len(np.unique(family.targets[every][new[every]])) for every in members],
    }
    if isinstance(family, ClassificationFamily):
        other = [np.setdiff1d(every.functions, train) for every in pools]
        kept = [np.unique(family.functions[every][new[every]]) for every in members]
        facts["near_equal_test_tasks"] = near_equal(family, drawn, make(held).test)
        facts["new_outputs_by_unseen_slot"] = [len(functions) for functions in other]
        facts["of_these_known_labels"] = [
            len(np.setdiff1d(functions, left)) for functions, left in zip(other, kept, strict=True)
        ]
    return facts


def output(line: str) -> str:
    """The output of a `tam …` command."""
    command = [sys.executable, "-m", *line.split()]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    main()
