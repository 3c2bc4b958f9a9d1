"""What there is to show: the files under results/."""

import json
import re
from pathlib import Path
from typing import Any

from blocks.words import SCALE
from tam.experiments.jobs import all_jobs
from tam.experiments.results import Places, result_of
from tam.io import infinite_if_none

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
        self.gpu = _read(folder / "gpu.json")
        self.memory = _read(folder / "memory.json")
        self.paper = _read(folder / "paper.json")
        self.peers = _read(folder / "peers.json")
        self.scaling = _read(folder / "scaling.json")
        self.runs = _counting(folder / "runs")

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

    def paper_best(self, name: str, compositional: bool = False) -> dict[int, float]:
        """The best that any method has in the paper's table, for each k."""
        better = max if self.metric(name) == "accuracy" else min
        methods = self.paper_scores(name, compositional).values()
        return {k: better(scores[k] for scores in methods) for k in self.shots}

    def runs_of(self, stem: str) -> list[Facts]:
        """The runs of one kind: `STEM-0`, or `STEM-k5-0` for one k, of every seed or hold-out."""
        name = re.compile(rf"{re.escape(stem)}(?:-k(\d+))?-(h?\d+)")
        found = [(match, run) for file, run in self.runs.items() if (match := name.fullmatch(file))]
        return [run for _, run in sorted(found, key=lambda one: (one[0][2], int(one[0][1] or 0)))]

    @property
    def reproductions(self) -> dict[str, Facts]:
        """The runs of the preset `paper`, by benchmark."""
        return {name: run for name in BENCHMARKS for run in self.runs_of(f"tam-paper-{name}")}

    def scores(self, stem: str, metric: str) -> dict[int, list[float]]:
        """The scores of these runs at each k, one for each seed or hold-out."""
        found: dict[int, list[float]] = {}
        for run in self.runs_of(stem):
            for one in run["scores"]:
                found.setdefault(one["k"], []).append(infinite_if_none(one[metric]))
        return found


def set_name(name: str, compositional: bool) -> str:
    """What the task set of a benchmark is called in files of facts."""
    return f"{name} compositional" if compositional else name


def _read(file: Path) -> Facts:
    return json.loads(file.read_text(encoding="utf-8"))


def _counting(folder: Path) -> dict[str, Facts]:
    """The results in a folder that count, by the names of their jobs."""
    places = Places(folder, folder, "cuda")
    return {job.name: result for job in all_jobs() if (result := result_of(job, places)) is not None}
