"""Score finished runs again, on their own or other test tasks, and combine runs that differ in seed."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tam.config.config import differing
from tam.config.sections import Protocol
from tam.errors import UserError
from tam.evaluation.protocol import episodes
from tam.io import exists
from tam.learner.inputs import Intake
from tam.tasks.task import Task
from tam.training.preflight import check_device, check_examples, real_device
from tam.training.run import load_tasks, read_config, read_result
from tam.training.saved import Saved
from tam.training.scoring import scores_and_floors

TestTasks = Mapping[str, Sequence[Task]]
"""Test tasks by split."""


class Opened(NamedTuple):
    """A finished run, and the tasks to score it on."""

    result: dict[str, Any]
    saved: Saved
    protocol: Protocol
    tasks: TestTasks


def open_run(
    folder: Path,
    shots: Sequence[int] = (),
    supports: int | None = None,
    device: str = "auto",
    tasks: TestTasks | None = None,
) -> Opened:
    """Open a finished run with its own or other test tasks; k, supports and device may be changed.

    Digits in other tasks become integers, or the reverse, if only those are tokens of the run.
    """
    if (result := read_result(folder)) is None:
        what = "finished run here (no result.json)" if exists(folder) else "such folder"
        raise UserError(f"{folder}: there is no {what}")
    config, source = read_config(folder / "config.json")
    changes = {"shots": tuple(shots) or None, "supports": supports, "device": real_device(device)}
    used = config.override(**{name: value for name, value in changes.items() if value is not None})
    check_device(used.device)
    saved = Saved.read(folder, used.device)
    if tasks is None:
        tasks = _own_tasks(folder, source, result, used.protocol)
    else:
        result = {**result, "tasks": {}}
        tasks = {
            split: [replace(task, vocabulary=task.vocabulary.like(saved.vocabulary)) for task in members]
            for split, members in tasks.items()
        }
        intake = Intake(saved.model.spec, saved.vocabulary, saved.primitives)
        for members in tasks.values():
            episodes(intake.tasks(members), max(used.protocol.shots), used.protocol)
    return Opened(result, saved, used.protocol, tasks)


def _own_tasks(
    folder: Path, source: Mapping[str, Any], result: Mapping[str, Any], protocol: Protocol
) -> TestTasks:
    tasks = load_tasks(source, file=folder / "config.json")
    if result["fingerprint"] != tasks.fingerprint:
        raise UserError(f"{folder}: the run there has other tasks: give it the tasks it started with")
    for split in tasks.test_splits:
        check_examples(tasks, protocol, split)
    return {split: tasks.splits[split] for split in tasks.test_splits}


def score_alike(run: Opened, first: Opened) -> Opened:
    """The run, to be scored with as many supports and queries as the first, drawn from the same seed."""
    drawn = {name: getattr(first.protocol, name) for name in ("supports", "queries", "support_seed")}
    return run._replace(protocol=replace(run.protocol, **drawn))


def evaluate_run(run: Opened) -> dict[str, Any]:
    """Return the result of a finished run with new scores.

    Like `tam.load(folder).evaluate`, it uses the weights, steps and rate of the run's nearest k.
    """
    kept = {name: value for name, value in run.result.items() if name != "splits"}
    return kept | scores_and_floors(run.saved, run.protocol, run.tasks)


def over_trials(results: Sequence[Mapping[str, Any]], folders: Sequence[Path]) -> dict[str, Any]:
    """Combine results of runs that differ only in seed: means, and standard deviations over runs.

    A single run keeps its intervals, which are over tasks. If a run's perplexity is infinite (None), so is
    the mean. `folders` hold the results, for error messages.
    """
    first = results[0]
    folder_of: dict[int, Path] = {}
    for folder, other in zip(folders, results, strict=True):
        if words := _other_than_seed(first, other):
            raise UserError(
                f"{folder} must differ from {folders[0]} in its seed alone (for others there is "
                f"tam compare): {'; '.join(words)}"
            )
        seed = other["config"]["seed"]
        if seed in folder_of:
            raise UserError(f"{folder} must have another seed: got {seed}, the seed of {folder_of[seed]}")
        folder_of[seed] = folder
    if len(results) == 1:
        return dict(first)
    values = dict(first) | {"scores": _over([result["scores"] for result in results])}
    values.pop("gains", None)  # of a single run
    if "splits" in first:
        values["splits"] = {
            split: _over([result["splits"][split] for result in results]) for split in first["splits"]
        }
    return values


def _over(results: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The mean and standard deviation of the scores of several runs, at each k."""
    scores: list[dict[str, Any]] = []
    for trials in zip(*results, strict=True):
        row: dict[str, Any] = {"k": trials[0]["k"], "trials": len(trials)}
        for metric in ("accuracy", "perplexity"):
            values = [trial[metric] for trial in trials]
            known = None not in values
            row[metric] = statistics.mean(values) if known else None
            row[f"{metric}_interval"] = statistics.stdev(values) if known else None
        scores.append(row)
    return scores


def _other_than_seed(first: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Describe how two results differ, apart from seed and device."""
    words = [
        f"{name} is {now!r}, not {before!r}"
        for name, (before, now) in differing(first["config"], other["config"]).items()
        if name not in ("seed", "device")
    ]
    words += ["its tasks differ"] if first["fingerprint"] != other["fingerprint"] else []
    return words + (["its scores are at other k"] if len(first["scores"]) != len(other["scores"]) else [])
