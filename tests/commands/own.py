"""What a person makes of tasks of their own."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.in_process import tam

Said = Callable[..., str]
"""Runs the command `tam` with these words, and returns its output."""


def write_in_every_split(file: Path, line: dict[str, Any]) -> None:
    """Write tasks that differ in their name and split alone."""
    lines = (line | {"task": split, "split": split} for split in ("train", "valid", "test"))
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_examples(file: Path, examples: Sequence[dict[str, Any]]) -> None:
    """Write them as `tam adapt` reads them."""
    file.write_text("".join(json.dumps(example) + "\n" for example in examples))


def train_nearest(folder: Path, kind: str, examples: Sequence[dict[str, Any]]) -> str:
    """Train the nearest neighbour, which takes no time, on tasks of these examples; the folder of the run."""
    file, run = folder / "tasks.jsonl", str(folder / "a run")
    write_in_every_split(file, {"kind": kind, "examples": examples})
    words = ("--preset", "smoke", "--method", "nearest", "--shots", "1", "--out", run)
    tam("train", str(file), *words)
    return run
