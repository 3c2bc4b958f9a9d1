"""What fewer searches cost and save when a pretrained model learns a task on a CPU.

For each pretrained model, the test tasks that came with it are learned from some of their examples and asked
about the others. A mixture of the first few searches is what as few searches would have found.
"""

import dataclasses
import time
from statistics import mean

import numpy as np
import torch
from record import Facts, cpu, write

import tam
from tam.learner.task_embedding import TaskEmbedding
from tam.pretrained import folder_of, names
from tam.pretrained.packed import read_packed
from tam.provenance import now, provenance

SEARCHES = (2, 3, 8)
EXAMPLES = {"classification": 20, "transduction": 8, "pathfinding": 8}
ASKED, TIMED = 20, 2


def main() -> None:
    torch.set_num_threads(1)
    models = {name: measure(name) for name in names()}
    facts = {
        "what": "pretrained models that learn test tasks with fewer searches",
        "command": "python benchmarks/searches.py",
        **provenance(),
        **cpu(),
        "finished": now(),
    }
    write("searches", facts | {"asked": ASKED, "models": models})


def measure(name: str) -> Facts:
    """The share of right answers, and the seconds of computing that learning takes."""
    learner, tasks = tam.load(name, "cpu"), read_packed(folder_of(name)).tasks
    given = EXAMPLES[name]
    right: dict[int, list[float]] = {count: [] for count in SEARCHES}
    seconds: dict[int, list[float]] = {count: [] for count in SEARCHES}
    for number, task in enumerate(tasks):
        examples, asked = task.examples[:given], task.examples[given : given + ASKED]
        rule = learner.adapt(examples)
        for count in SEARCHES:
            found = learner.predict(first(rule, count), [x for x, _ in asked])
            right[count].append(mean(y == true for y, (_, true) in zip(found, asked, strict=True)))
            if number < TIMED:
                started = time.process_time()
                learner.adapt(examples, searches=count)
                seconds[count].append(time.process_time() - started)
        print(name, {count: round(mean(some), 3) for count, some in right.items()}, flush=True)
    return {
        "tasks": len(tasks),
        "examples": given,
        "right": {str(count): round(mean(some), 4) for count, some in right.items()},
        "seconds": {str(count): round(mean(some), 2) for count, some in seconds.items()},
    }


def first(rule: TaskEmbedding, count: int) -> TaskEmbedding:
    """The mixture of the first searches alone."""
    rows = rule.vector.reshape(rule.searches, -1)[:count].copy()
    rows[:, 0] /= np.float32(rows[:, 0].sum())
    return dataclasses.replace(rule, vector=rows.flatten(), searches=count)


if __name__ == "__main__":
    main()
