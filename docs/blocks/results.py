"""What there is to show: the files under results/."""

import json
import re
from pathlib import Path
from typing import Any

from blocks.words import SCALE

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = {
    "classification": "Classification",
    "transduction": "Transduction",
    "pathfinding": "Path-finding",
}

Facts = dict[str, Any]


class Results:
    """The files under results/ that the documentation quotes."""

    def __init__(self) -> None:
        folder = ROOT / "results"
        self.tasks = _read(folder / "tasks.json")
        self.choices = _read_if_there(folder / "choices.json")
        self.limits = _read_if_there(folder / "limits.json")
        self.gpu = _read(folder / "gpu.json")
        self.memory = _read(folder / "memory.json")
        self.paper = _read(folder / "paper.json")
        self.peers = _read(folder / "peers.json")
        self.scaling = _read(folder / "scaling.json")
        self.runs = _read_all(folder / "runs")
        self.tuning = _read_all(folder / "tuning")

    @property
    def shots(self) -> list[int]:
        """The k of the paper's tables, and of ours."""
        return self.paper["shots"]

    def task_set(self, name: str, compositional: bool = False) -> Facts:
        """The facts of a benchmark's task set."""
        return self.tasks["sets"][set_name(name, compositional)]

    def metric(self, name: str) -> str:
        """What a benchmark is scored by, in both of its forms."""
        return self.task_set(name)["metric"]

    def paper_rows(self, name: str, compositional: bool = False) -> dict[str, Facts]:
        """The paper's methods on a benchmark, their means and errors as printed."""
        return self.paper["compositional sets" if compositional else "sets"][name]

    def paper_scores(self, name: str, compositional: bool = False) -> dict[str, dict[int, float]]:
        """The scores of the paper's methods on a benchmark for each k, in the unit of ours."""
        scale = SCALE[self.metric(name)]
        return {
            method: {k: mean / scale for k, mean in zip(self.shots, row["mean"], strict=True)}
            for method, row in self.paper_rows(name, compositional).items()
        }

    def by_shots(self, method: str, kind: str, name: str, more: str = "") -> dict[int, Facts]:
        """For each k the run of a method and a kind on a benchmark (seed 0) that scores it."""
        stem = f"{method}-{kind}-{name}{more}"
        found: dict[int, Facts] = {}
        for file, run in self.runs.items():
            if re.fullmatch(rf"{stem}(-k\d+)?-0", file):
                for one in run["scores"]:
                    if one["k"] in found:
                        raise ValueError(f"two runs {stem} have a score at k = {one['k']}")
                    found[one["k"]] = run
        return dict(sorted(found.items()))


def set_name(name: str, compositional: bool) -> str:
    """What the task set of a benchmark is called in files of facts."""
    return f"{name} compositional" if compositional else name


def _read(file: Path) -> Facts:
    return json.loads(file.read_text(encoding="utf-8"))


def _read_if_there(file: Path) -> Facts | None:
    return _read(file) if file.exists() else None


def _read_all(folder: Path) -> dict[str, Facts]:
    return {file.stem: _read(file) for file in sorted(folder.glob("*.json"))}
