"""Read the files under results/ for the documentation."""

from pathlib import Path

from tam.io import infinite_if_none, read_json
from tam.report.collect import BENCHMARKS, LEVERS, ROWS, Facts, set_name
from tam.report.collect import Results as Published

__all__ = ["BENCHMARKS", "LEVERS", "ROOT", "ROWS", "Facts", "Results", "set_name"]

ROOT = Path(__file__).resolve().parents[2]


class Results(Published):
    """Everything under results/ that the documentation uses."""

    def __init__(self) -> None:
        super().__init__(ROOT / "results")
        self.gpu, self.memory, self.peers, self.scaling, self.serve = (
            read_json(self.folder / f"{name}.json") for name in ("gpu", "memory", "peers", "scaling", "serve")
        )

    def scores(self, stem: str, metric: str) -> dict[int, list[float]]:
        """The scores of runs at each k, one per seed or hold-out."""
        found: dict[int, list[float]] = {}
        for run in self.runs_of(stem):
            for one in run["scores"]:
                found.setdefault(one["k"], []).append(infinite_if_none(one[metric]))
        return found
