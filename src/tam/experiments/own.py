"""`python -m tam.experiments.own NAME DATA OPTIONS…`: publish a score on real data.

It runs `tam train DATA OPTIONS…`, and writes the result and the command to `results/own/NAME.json`.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from tam.io import read_json
from tam.training.checkpoint import write_json


def main(words: list[str]) -> None:
    """Train, score, and store the result."""
    if len(words) < 2:
        sys.exit("error: give a name for the result, the data, and any options of tam train")
    name, data, *options = words
    folder = Path("runs/own") / name
    train = [sys.executable, "-m", "tam", "train", data, *options, "--out", str(folder)]
    if subprocess.run(train, check=False).returncode:
        sys.exit(1)
    result, path = read_json(folder / "result.json"), Path(data).resolve()
    for what in ("path", "splits"):
        if what in result["tasks"]:
            result["tasks"][what] = os.path.relpath(result["tasks"][what], path.parent)
    command = shlex.join(["tam", "train", path.name, *options, "--out", f"runs/{name}"])
    facts = {"command": command, "load": round(os.getloadavg()[1], 1), "cores": os.cpu_count()}
    Path("results/own").mkdir(parents=True, exist_ok=True)
    write_json(Path("results/own") / f"{name}.json", {**result, **facts})


if __name__ == "__main__":
    main(sys.argv[1:])
