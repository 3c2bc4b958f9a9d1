"""`tam compare`: runs of any methods side by side, with their floors, on the same test tasks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from tam.cli.options import several
from tam.cli.use import ScoredRuns

if TYPE_CHECKING:
    from tam.evaluation.protocol import KShotScore


@dataclass(frozen=True)
class Compare(ScoredRuns):
    """Score runs on their test tasks, or on the tasks of a file, and show them side by side with floors."""

    run_folders: Annotated[tuple[str, ...], tyro.conf.Positional, several("RUN")]
    """Folders of finished runs, with any methods and on any data."""

    def run(self) -> None:
        """Score all runs, and print a table for each set of test tasks."""
        from tam.evaluation.floors import floors
        from tam.report.side_by_side import Compared, comparison
        from tam.training.scoring import score_splits

        compared: list[Compared] = []
        known: dict[tuple[object, ...], dict[str, list[KShotScore]]] = {}
        for name, folder in zip(self.run_folders, self.folders, strict=True):
            opened = self.open(folder)
            data = str(self.tasks or opened.result["fingerprint"])
            source = opened.result["tasks"]
            title = str(self.tasks or source.get("name") or source.get("path") or "tasks in memory")
            scored = score_splits(opened.saved, opened.protocol, opened.tasks)
            for split, scores in scored.items():
                key = (data, split, opened.protocol)
                if key not in known:
                    known[key] = floors(opened.tasks[split], opened.protocol)
                of_run = f"{name} ({opened.result['method']})"
                compared.append(
                    Compared(data, f"{title}, {split}", of_run, opened.result["kind"], scores, known[key])
                )
        print(comparison(compared))
