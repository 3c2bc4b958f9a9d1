"""The benchmark and a few test tasks of a packed model, which its folder has beside the weights."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from tam.io import exists
from tam.pretrained.card import FILE, read_card


class ShownTask(NamedTuple):
    """A test task, which training never saw."""

    name: str
    examples: list[tuple[list[Any], Any]]


class Packed(NamedTuple):
    """The benchmark and test tasks of a packed model; empty for any other folder."""

    benchmark: str | None = None
    tasks: tuple[ShownTask, ...] = ()


def read_packed(folder: Path) -> Packed:
    """Read the files that `tam pack` wrote beside the weights, if there are any."""
    benchmark = read_card(folder)["tasks"].get("name") if exists(folder / FILE) else None
    if not exists(file := folder / "tasks.jsonl"):
        return Packed(benchmark)
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return Packed(
        benchmark,
        tuple(ShownTask(one["task"], [(each["x"], each["y"]) for each in one["examples"]]) for one in lines),
    )
