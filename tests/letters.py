"""A small file of tasks."""

import json
from itertools import product
from pathlib import Path


def write_letters(file: Path) -> None:
    """Write twelve tasks, each a letter that must occur for the label to be yes."""
    lines = []
    for number, letter in enumerate("abcdefghijkl"):
        words = [list(word) for length in (1, 2) for word in product((letter, *"wxyz"), repeat=length)]
        examples = [{"x": word, "y": "yes" if letter in word else "no"} for word in words]
        split = "train" if number < 8 else "valid" if number < 10 else "test"
        lines.append({"task": letter, "kind": "classification", "split": split, "examples": examples})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
