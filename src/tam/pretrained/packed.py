"""What the folder of a packed model tells beside its weights: its benchmark, and a few test tasks."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from tam.io import exists
from tam.pretrained.card import FILE, read_card


class ShownTask(NamedTuple):
    """A task that training never saw."""

    name: str
    examples: list[tuple[list[Any], Any]]


class Packed(NamedTuple):
    """A packed model; any other folder has no benchmark and no tasks."""

    benchmark: str | None = None
    tasks: tuple[ShownTask, ...] = ()


def read_packed(folder: Path) -> Packed:
    """Read what `tam pack` wrote beside the weights, if it is there."""
    benchmark = read_card(folder)["tasks"].get("name") if exists(folder / FILE) else None
    if not exists(file := folder / "tasks.jsonl"):
        return Packed(benchmark)
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return Packed(
        benchmark,
        tuple(ShownTask(one["task"], [(each["x"], each["y"]) for each in one["examples"]]) for one in lines),
    )
