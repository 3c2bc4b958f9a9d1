"""Score a packed model and write its card: `python -m tam.pretrained.score NAME [--log FILE]`.

On a CPU the largest k takes about half a minute per task, so scores are logged task by task: a stopped
command continues where it was, and the card can be made from partial results.
"""

import argparse
import json
import platform
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tam.errors import UserError
from tam.evaluation.protocol import KShotScore, TaskScore, score
from tam.io import exists, json_text, path_of
from tam.methods import make_method
from tam.models.token_ids import TokenIds
from tam.pretrained import resolve
from tam.pretrained.card import FILE, read_card, readme
from tam.provenance import now, provenance
from tam.tasks.task import Task
from tam.training.checkpoint import write_json, write_text
from tam.training.run import load_tasks
from tam.training.saved import Saved
from tam.training.scoring import score_rows


def score_packed(
    folder: Path,
    tasks: Sequence[Task],
    supports: int,
    shots: Sequence[int] = (),
    log: Path | None = None,
) -> dict[str, Any]:
    """Score a packed model as stored, and write its card with the scores; returns the card.

    Args:
        folder: The packed model with its `card.json`, whose scores at other k are kept.
        tasks: Test tasks.
        supports: The number of supports per task.
        shots: The values of k; by default all of the model's.
        log: A JSONL file to append the score of each task to; tasks already in it are not scored again.
    """
    saved, card = Saved.read(folder, "cpu"), read_card(folder)
    protocol = replace(saved.config.protocol, supports=supports)
    method, encoded = make_method(saved.config), TokenIds(saved.model.spec, saved.vocabulary).tasks(tasks)
    rows = {row["k"]: row for row in card["scores"].get("packed", ())}
    known = {} if log is None else _read(log)
    for k in shots or protocol.shots:
        model, choice = saved.at(k)
        scores: list[TaskScore] = []
        for task in encoded:
            key = (card["name"], k, supports, task.name)
            if key not in known:
                (known[key],) = score(method, model, [task], k, choice, protocol, saved.primitives).tasks
                if log is not None:
                    with open(log, "a", encoding="utf-8") as file:
                        file.write(json_text([*key, *known[key]]) + "\n")
            scores.append(known[key])
        (rows[k],) = score_rows([KShotScore(k, choice, tuple(scores))])
    card["scores"]["packed"] = [rows[k] for k in sorted(rows)]
    card["scored"] = {"supports": supports, "device": platform.machine(), **provenance(), "finished": now()}
    write_json(folder / FILE, card)
    write_text(folder / "README.md", readme(card))
    return card


def _read(log: Path) -> dict[tuple[str, int, int, str], TaskScore]:
    if not exists(log):
        return {}
    lines = map(json.loads, filter(None, log.read_text(encoding="utf-8").split("\n")))
    return {(name, k, supports, task): TaskScore(*scores) for name, k, supports, task, *scores in lines}


def main() -> None:
    """Score from the command line; needs only torch, numpy and safetensors."""
    parser = argparse.ArgumentParser(prog="python -m tam.pretrained.score", description=__doc__)
    parser.add_argument("model", help="a pretrained model, or the folder of a packed one")
    parser.add_argument("--tasks", type=int, help="number of test tasks to score; all if not given")
    parser.add_argument("--supports", type=int, default=1, help="number of supports per task")
    parser.add_argument("--shots", type=int, nargs="*", default=(), help="values of k; all if not given")
    parser.add_argument("--log", help="a file to log the score of each task in, and to continue from")
    arguments = parser.parse_args()
    try:
        folder = resolve(arguments.model)
        log = None if arguments.log is None else path_of(arguments.log, "--log")
        card = read_card(folder)
        tasks = load_tasks(card["tasks"], file=folder / FILE)
        if tasks.fingerprint != card["fingerprint"]:
            raise UserError(f"{folder / FILE}: this version makes other tasks than the model was trained on")
        score_packed(folder, tasks.test[: arguments.tasks], arguments.supports, arguments.shots, log)
    except UserError as error:
        raise SystemExit(f"error: {error}") from None
    print(f"scored; the card is {folder / 'README.md'}")


if __name__ == "__main__":
    main()
