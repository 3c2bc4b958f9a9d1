"""What limits a trained model: its training, tasks that are new, or few examples.

Run `python benchmarks/limits.py RUN...` with the folders of finished runs, as `tam train` leaves them; it
writes results/limits.json, where models of other names stay. It needs only torch, numpy and safetensors.

The last weights of a run learn as many training tasks as test tasks, from k = 5, from 20 and from many
examples, and are asked what they have not seen: the training tasks' examples are drawn anew, without those
that θ was trained on. Steps and rate are chosen for each k on the validation tasks, by the k-shot protocol.
The loss on test tasks at k is then a sum:

- optimisation: the loss on training tasks with many examples, above the least that is possible. That is 0:
  the answer follows from x and the task on all three benchmarks (of several shortest paths the first in
  lexicographic order is meant), and the end of an answer is not in the loss.
- generalisation: what is added by the tasks being new, with many examples.
- few examples: what is added by having k examples only.

The largest is what limits the model at k. The same is done for the error, which is 1 - accuracy: steps are
chosen for accuracy on classification, where a z that is right more often may be too sure of itself. `seen` is
the loss on training tasks with the very examples that θ was trained on: how much of `optimisation` is
that inputs are new, not that θ is not learned.
"""

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tam.ending import command
from tam.errors import UserError
from tam.evaluation import KShotScore, choose, interval, score
from tam.files import read_json
from tam.methods import make_method
from tam.provenance import now, provenance
from tam.report.table import table
from tam.sections import Protocol
from tam.tasks.benchmark import BenchmarkOptions, choices, family_of, make
from tam.tasks.draws import Draws
from tam.tasks.family import Choice, Family
from tam.tasks.task import Classes, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.training.checkpoint import write_json
from tam.training.checks import check_device, check_tasks
from tam.training.run import device_name, read_result
from tam.training.saved import Saved

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "results" / "limits.json"

SHOTS = (5, 20)
QUERIES = 100
FLOOR = 0.0
"""The least loss and the least error that are possible."""

Facts = dict[str, Any]
Scores = dict[str, dict[str, KShotScore]]
"""Of each group of tasks, at each k by its name."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="RUN", help="the folder of a finished run")
    parser.add_argument("--out", type=Path, default=FILE, help="the file of results")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda")
    parser.add_argument("--tasks", type=int, default=32, help="training tasks, and as many test tasks")
    parser.add_argument("--many", type=int, default=200, help="how many examples of a task are many")
    parser.add_argument("--most-steps", type=int, default=25, help="to learn a task in")
    given = parser.parse_args()
    if given.tasks < 2 or given.most_steps < 1:
        parser.error("--tasks is at least 2, for intervals over tasks, and --most-steps at least 1")
    with command():
        check_device(given.device)
        facts: Facts = {
            "what": "loss and error of training and test tasks, learned from few and from many examples",
            "command": "python benchmarks/limits.py",
            "many": given.many,
            "floor": FLOOR,
            "models": [],
            "device": device_name(given.device),
            "torch": torch.__version__,
            **provenance(),
        }
        if given.out.exists():
            facts["models"] = read_json(given.out)["models"]
        for folder in given.folders:
            found = measure(folder, given.device, given.tasks, given.many, given.most_steps)
            others = [one for one in facts["models"] if one["model"] != found["model"]]
            facts["models"] = [*others, found]
            facts["finished"] = now()
            given.out.parent.mkdir(parents=True, exist_ok=True)
            write_json(given.out, facts)
            print(f"{shown(found)}\n", flush=True)
        print(f"written: {given.out}")


def measure(folder: Path, device: str, count: int, many: int, most_steps: int) -> Facts:
    """The numbers of one model, the gaps between them, and what limits it."""
    result, saved = finished(folder, device)
    started = time.monotonic()
    options = BenchmarkOptions(**result["tasks"])
    tasks = make(options)
    check_tasks(tasks, result, folder / "result.json")
    groups = groups_of(tasks, options, count)
    classes = max(tasks.n_classes, 1)
    protocol = protocol_for(saved.config.protocol, many // classes, most_steps)
    scores = scores_of(saved, tasks.valid, groups, protocol)
    check_finite(scores, folder)
    gaps = {metric: gaps_of(scores, metric) for metric in ("loss", "error")}
    copied = ("method", "version", "kind", "tasks", "fingerprint", "config", "seconds", "device")
    return {
        "model": folder.name,
        **{name: result[name] for name in copied},
        "trained_by": {name: result.get(name) for name in ("commit", "code")},
        "tasks_each": len(groups["test"]),
        "protocol": {name: list(getattr(protocol, name)) for name in ("adapt_steps", "adapt_rates")}
        | {"supports": protocol.supports, "queries": protocol.queries},
        "chosen": {
            name: {"k": one.k, "examples": one.k * classes, **one.choice._asdict()}
            | {"at_most": one.choice.steps == max(protocol.adapt_steps)}
            for name, one in scores["test"].items()
        },
        "scores": {group: {name: plain(one) for name, one in of.items()} for group, of in scores.items()},
        "gaps": gaps,
        "limits": {metric: {str(k): largest(found, k) for k in SHOTS} for metric, found in gaps.items()},
        "measuring_seconds": round(time.monotonic() - started, 1),
    }


def finished(folder: Path, device: str) -> tuple[Facts, Saved]:
    """The result and the last weights of a run; an error if there is none that can be asked."""
    result = read_result(folder)
    if result is None:
        raise UserError(f"{folder}: there is no finished run here (no result.json)")
    saved = Saved.read(folder, device)
    if saved.config.settings.per_shots:
        raise UserError(
            f"{folder}: {saved.config.method} has one model per k, which cannot be asked at others"
        )
    if saved.primitives is not None:
        raise UserError(
            f"{folder}: the model knows the primitives of training tasks: nothing is to be learned"
        )
    if "name" not in result["tasks"]:
        raise UserError(f"{folder}: only tasks of a benchmark can be drawn anew, not {result['tasks']}")
    return result, saved


def groups_of(tasks: TaskSet, options: BenchmarkOptions, count: int) -> dict[str, list[Task]]:
    """As many training as test tasks, and the same training tasks with the examples that θ has seen."""
    count = min(count, len(tasks.train), len(tasks.test))
    train = spread(len(tasks.train), count)
    family = family_of(options)
    drawn = choices(family, options)["train"]
    return {
        "training": [new_examples(tasks.train[i], family, drawn[i], options.test_examples) for i in train],
        "test": [tasks.test[i] for i in spread(len(tasks.test), count)],
        "seen": [tasks.train[i] for i in train],
    }


def scores_of(
    saved: Saved, valid: Sequence[Task], groups: Mapping[str, Sequence[Task]], protocol: Protocol
) -> Scores:
    """The scores of each group at each k; what was seen is asked with many examples only."""
    method = make_method(saved.config)
    scores: Scores = {group: {} for group in groups}
    for name, k in zip((*map(str, SHOTS), "many"), protocol.shots, strict=True):
        choice = choose(method, saved.model, valid, k, protocol).choice
        for group, some in groups.items():
            if group != "seen" or name == "many":
                scores[group][name] = score(method, saved.model, some, k, choice, protocol)
    return scores


def check_finite(scores: Scores, folder: Path) -> None:
    """Raise an error if a loss is infinite."""
    for group, of in scores.items():
        for one in of.values():
            if not math.isfinite(one.perplexity):
                raise UserError(
                    f"{folder}: a loss of {group} tasks at k = {one.k} is infinite: gaps cannot be told"
                )


def spread(size: int, count: int) -> list[int]:
    """So many places, evenly spaced."""
    return [place * size // count for place in range(count)]


def protocol_for(own: Protocol, many: int, most_steps: int) -> Protocol:
    """The model's protocol at our k, with one support and no more than so many steps."""
    if many <= max(SHOTS):
        raise UserError(f"many are more than {max(SHOTS)} examples, of each class if there are some")
    steps = tuple(n for n in own.adapt_steps if n <= most_steps) or (most_steps,)
    return replace(own, shots=(*SHOTS, many), supports=1, queries=QUERIES, adapt_steps=steps)


def new_examples(task: Task, family: Family, choice: Choice, count: int) -> Task:
    """About so many examples of a task that are not among its own, equally many of every class."""
    x, y = family.examples(choice, count, Draws("limits", task.name))
    own = set(map(tuple, task.x.ids.tolist()))
    new = np.array([tuple(row) not in own for row in x.ids.tolist()])
    rows = np.flatnonzero(new)
    if isinstance(y, Classes):
        of_class = [rows[y.ids[rows] == place] for place in range(len(y.labels))]
        rows = np.sort(np.concatenate([group[: min(map(len, of_class))] for group in of_class]))
        return replace(task, x=_take(x, rows), y=Classes(y.ids[rows], y.labels))
    return replace(task, x=_take(x, rows), y=_take(y, rows))


def _take(sequences: Sequences, rows: np.ndarray[Any, Any]) -> Sequences:
    return Sequences(sequences.ids[rows], sequences.lengths[rows])


def values(scores: KShotScore, metric: str) -> list[float]:
    """The loss or the error of every task."""
    if metric == "loss":
        return [math.log(task.perplexity) for task in scores.tasks]
    return [1 - task.accuracy for task in scores.tasks]


def plain(scores: KShotScore) -> Facts:
    """The means over tasks, with the half widths of their 95 % intervals."""
    found = {"loss": mean(values(scores, "loss"))}
    for metric in ("accuracy", "perplexity"):
        found[metric] = {"mean": getattr(scores, metric), "interval": scores.interval(metric)}
    return found


def mean(some: Sequence[float]) -> Facts:
    """A mean, and half the width of its 95 % interval."""
    return {"mean": float(np.mean(some)), "interval": interval(some)}


def gaps_of(scores: Scores, metric: str) -> Facts:
    """The parts of what test tasks are above the floor by."""
    found = {group: {name: values(one, metric) for name, one in of.items()} for group, of in scores.items()}
    training, test = mean(found["training"]["many"]), mean(found["test"]["many"])
    new_inputs = np.subtract(found["training"]["many"], found["seen"]["many"])
    few = {str(k): mean(np.subtract(found["test"][str(k)], found["test"]["many"]).tolist()) for k in SHOTS}
    return {
        "optimisation": training
        | {"mean": training["mean"] - FLOOR, "new_inputs": mean(new_inputs.tolist())},
        "generalisation": {
            "mean": test["mean"] - training["mean"],
            "interval": math.hypot(test["interval"], training["interval"]),  # other tasks
        },
        "few examples": few,
    }


def at(gaps: Facts, k: int) -> Facts:
    """The three gaps at one k."""
    return gaps | {"few examples": gaps["few examples"][str(k)]}


def largest(gaps: Facts, k: int) -> str:
    """The name of the largest gap at one k."""
    return max((found := at(gaps, k)), key=lambda name: found[name]["mean"])


def shown(found: Facts) -> str:
    """A model's gaps as a table."""
    rows = []
    for metric, gaps in found["gaps"].items():
        for k in SHOTS:
            parts = at(gaps, k).values()
            total = FLOOR + sum(part["mean"] for part in parts)
            cells = (f"{part['mean']:.3f} ± {part['interval']:.3f}" for part in parts)
            rows.append([f"{metric}, k = {k}", f"{total:.3f}", *cells, found["limits"][metric][str(k)]])
    head = ["test tasks", "", "optimisation", "generalisation", "few examples", "limited by"]
    chosen = ", ".join(
        f"{name}: {one['steps']}{' (the most)' if one['at_most'] else ''} × {one['rate']:g}"
        for name, one in found["chosen"].items()
    )
    return (
        f"{found['model']}: {found['method']} on {found['tasks']['name']}, {found['tasks_each']} tasks of "
        f"each, {found['measuring_seconds']:g} s; chosen steps × rate at k = {chosen}\n{table(head, rows)}"
    )


if __name__ == "__main__":
    main()
