"""`tam compare`: runs of any methods side by side, with their floors, on the same test tasks."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from tam.cli.options import several
from tam.cli.use import ScoredRuns

if TYPE_CHECKING:
    from tam.evaluation.protocol import KShotScore
    from tam.learner.evaluating import Opened


@dataclass(frozen=True)
class Compare(ScoredRuns):
    """Score runs on their test tasks, or on the tasks of a file, and show them side by side with floors."""

    run_folders: Annotated[tuple[str, ...], tyro.conf.Positional, several("RUN")]
    """Folders of finished runs, with any methods and on any data."""

    def run(self) -> None:
        """Score all runs, and print a table for each set of test tasks."""
        from tam.evaluation.floors import floors
        from tam.learner.evaluating import score_alike
        from tam.report.side_by_side import Compared, comparison
        from tam.training.scoring import score_splits

        compared: list[Compared] = []
        known: dict[tuple[object, ...], dict[str, list[KShotScore]]] = {}
        firsts: dict[str, tuple[str, Opened]] = {}
        for name, folder in zip(self.run_folders, self.folders, strict=True):
            opened = self.open(folder)
            kind = opened.result["kind"]
            data = f"{self.tasks} {kind}" if self.tasks else opened.result["fingerprint"]
            first_name, first = firsts.setdefault(data, (name, opened))
            own, opened = opened.protocol, score_alike(opened, first)
            if (protocol := opened.protocol) != own:
                drawn = f"supports {protocol.supports} and queries {protocol.queries}"
                print(f"note: {name} is scored with {drawn}, as {first_name} was", file=sys.stderr)
            source = opened.result["tasks"]
            title = str(self.tasks or source.get("name") or source.get("path") or "tasks in memory")
            scored = score_splits(opened.saved, protocol, opened.tasks)
            for split, scores in scored.items():
                key = (data, split, protocol)
                if key not in known:
                    known[key] = floors(opened.tasks[split], protocol)
                of_run = f"{name} ({opened.result['method']})"
                compared.append(Compared(data, f"{title}, {split}", of_run, kind, scores, known[key]))
        print(comparison(compared))
