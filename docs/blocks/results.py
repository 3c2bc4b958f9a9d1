"""Read the files under results/ for the documentation."""

from pathlib import Path

from tam.io import read_json
from tam.report.collect import Results as Published

ROOT = Path(__file__).resolve().parents[2]


class Results(Published):
    """Everything under results/ that the documentation uses."""

    def __init__(self) -> None:
        super().__init__(ROOT / "results")
        self.gpu, self.memory, self.peers, self.scaling, self.serve = (
            read_json(self.folder / f"{name}.json") for name in ("gpu", "memory", "peers", "scaling", "serve")
        )
