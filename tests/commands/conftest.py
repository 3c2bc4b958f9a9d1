"""Tasks of a user, and a finished run on them."""

import json
from itertools import product
from pathlib import Path

import pytest

from tests.in_process import tam


@pytest.fixture(scope="session")
def small_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve tasks, each a letter that must occur for the label to be yes."""
    file = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    lines = []
    for number, letter in enumerate("abcdefghijkl"):
        words = [list(word) for length in (1, 2) for word in product((letter, *"wxyz"), repeat=length)]
        examples = [{"x": word, "y": "yes" if letter in word else "no"} for word in words]
        split = "train" if number < 8 else "valid" if number < 10 else "test"
        lines.append({"task": letter, "kind": "classification", "split": split, "examples": examples})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.fixture(scope="session")
def finished(small_tasks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that is not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "first"
    tam("train", str(small_tasks), "--preset", "smoke", "--out", str(folder))
    return folder
