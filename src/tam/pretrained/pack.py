"""Pack a run into a small folder with a model card: `python -m tam.pretrained.pack RUN --out FOLDER`.

A run has its last weights and, for each k, those that validated best. Those that are best for the most k
are packed, rounded to float16, with the steps and rate that validated best for them at each k.
"""

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from tam.errors import SettingError, UserError
from tam.io import json_text, new_folder, path_of
from tam.pretrained.card import FILE
from tam.pretrained.score import score_packed
from tam.tasks.rng import Rng
from tam.tasks.task import Task
from tam.tasks.taskset import TaskSet
from tam.training.checkpoint import write_json, write_text
from tam.training.run import load_tasks, read_config, read_result
from tam.training.saved import Saved, validated

LIMIT = 4_000_000
"""Most bytes of packed weights."""
_SHOWN_TASKS, _SHOWN_EXAMPLES = 12, 60


def pack_run(run: Path, out: Path, *, tasks: int, supports: int, name: str | None = None) -> dict[str, Any]:
    """Pack a finished run into a new folder; returns its card.

    Args:
        run: The folder of the run.
        out: The folder to write.
        tasks: The number of test tasks to score the packed model on.
        supports: The number of supports per task.
        name: The name of the model; by default that of the folder.
    """
    if tasks < 1:
        raise SettingError(f"tasks must be at least 1: got {tasks}")
    if (result := read_result(run)) is None:
        raise UserError(f"{run}: there is no finished run here (no result.json)")
    config, source = read_config(run / "config.json")
    with new_folder(out) as folder:
        task_set = load_tasks(source, file=run / "config.json")
        if result["fingerprint"] != task_set.fingerprint:
            raise UserError(f"{run}: the run there has other tasks: give it the tasks it started with")
        saved, step = one_set(Saved.read(run, "cpu"), run, config.training.steps)
        spec = saved.model.spec
        saved.write(folder, half=True)
        size = (folder / "model.safetensors").stat().st_size
        if size > LIMIT:
            raise UserError(f"{run}: the packed weights must take at most {LIMIT:,} bytes: got {size:,}")
        kept = ("seconds", "device", "commit", "code", "tam", "torch", "finished")
        card: dict[str, Any] = {
            "name": name or out.resolve().name,
            "kind": result["kind"],
            "method": result["method"],
            "tasks": result["tasks"],
            "fingerprint": result["fingerprint"],
            "vocabulary": len(saved.vocabulary),
            "parameters": sum(parameter.numel() for parameter in saved.model.parameters()),
            "task_size": saved.model.task_size,
            "step": step,
            "bytes": size,
            "inputs": {"usual": spec.max_x, "longest": spec.longest_x, "unknown": spec.unknown_tokens},
            "shown": len(task_set.test[:_SHOWN_TASKS]),
            "scores": {"run": result["scores"]},
            "run": {name: result.get(name) for name in kept}
            | {"seed": config.seed, "supports": config.protocol.supports, "test_tasks": len(task_set.test)},
        }
        write_json(folder / FILE, card)
        write_text(folder / "tasks.jsonl", _lines(task_set))
        return score_packed(folder, task_set.test[:tasks], supports)


def one_set(saved: Saved, run: Path, last_step: int) -> tuple[Saved, int]:
    """Keep the weights that are best for the most k (in a tie, the largest k); also return their step."""
    if not saved.best:
        return saved, last_step
    by_step = Counter(best.step for best, _ in saved.best.values())
    k = max(saved.best, key=lambda k: (by_step[saved.best[k][0].step], k))
    best, model = saved.best[k]
    choices = {other: one.choice for other, (one, _) in saved.best.items() if one.step == best.step}
    choices |= validated(run, best.step)  # of a method that does not train, none is recorded
    if missing := [k for k in saved.config.protocol.shots if k not in choices]:
        raise UserError(f"{run / 'metrics.jsonl'}: no validation of step {best.step} at k = {missing[0]}")
    return replace(saved, model=model, choices=choices, best={}), best.step


def _lines(tasks: TaskSet) -> str:
    """The first test tasks with some of their examples, as JSONL."""
    return "".join(
        json_text({"task": task.name, "kind": task.kind, "examples": _some_examples(task)}) + "\n"
        for task in tasks.test[:_SHOWN_TASKS]
    )


def _some_examples(task: Task) -> list[dict[str, Any]]:
    """Random examples of a task: in a file they may be sorted by label."""
    some = (task[place] for place in Rng("shown", task.name).permutation(len(task))[:_SHOWN_EXAMPLES])
    return [{"x": list(x), "y": y} for x, y in some]


def main() -> None:
    """Pack a run from the command line; needs only torch, numpy and safetensors."""
    parser = argparse.ArgumentParser(prog="python -m tam.pretrained.pack", description=__doc__)
    parser.add_argument("run", help="the folder of a finished run")
    parser.add_argument("--out", required=True, help="a new folder for the packed model")
    parser.add_argument("--tasks", type=int, default=16, help="number of test tasks to score it on")
    parser.add_argument("--supports", type=int, default=1, help="number of supports per task")
    parser.add_argument("--name", help="its name; by default that of the folder")
    arguments = parser.parse_args()
    try:
        run, out = path_of(arguments.run, "run"), path_of(arguments.out, "--out")
        card = pack_run(run, out, tasks=arguments.tasks, supports=arguments.supports, name=arguments.name)
    except UserError as error:
        raise SystemExit(f"error: {error}") from None
    print(f"packed {card['name']} into {out}: {card['bytes']:,} bytes")


if __name__ == "__main__":
    main()
