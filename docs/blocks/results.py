"""What there is to show: the files under results/."""

from pathlib import Path

from tam.io import read_json
from tam.report.collect import BENCHMARKS, LEVERS, ROWS, Facts, set_name
from tam.report.collect import Results as Published

__all__ = ["BENCHMARKS", "LEVERS", "ROOT", "ROWS", "Facts", "Results", "set_name"]

ROOT = Path(__file__).resolve().parents[2]


class Results(Published):
    """Everything under results/ that the documentation quotes."""

    def __init__(self) -> None:
        super().__init__(ROOT / "results")
        self.gpu, self.memory, self.peers, self.scaling, self.serve = (
            read_json(self.folder / f"{name}.json") for name in ("gpu", "memory", "peers", "scaling", "serve")
        )
