"""`tam compare`: runs of any methods side by side, with their floors, on the same test tasks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from tam.cli.options import optional, several
from tam.cli.tasks import AnswerKind, FoldOption, Splits, Text
from tam.cli.use import other_tasks
from tam.errors import UserError
from tam.io import path_of

if TYPE_CHECKING:
    from tam.evaluation.protocol import KShotScore


@dataclass(frozen=True)
class Compare:
    """Score runs on their test tasks, or on the tasks of a file, and show them side by side with floors."""

    run_folders: Annotated[tuple[str, ...], tyro.conf.Positional, several("RUN")]
    """Folders of finished runs: of any methods, and on any data."""
    shots: Annotated[tuple[int, ...], optional("INT [INT ...]")] = ()
    """Values of k; those of each run if not given."""
    device: str = "auto"
    """auto (cuda if there is a GPU, else cpu), cpu, cuda, or one of several GPUs, such as cuda:1."""
    tasks: Annotated[str | None, optional("FILE")] = None
    """Score these tasks instead: the test tasks of a file, or all of them if it has no splits."""
    splits: Splits = None
    fold: FoldOption = None
    text: Text = None
    kind: AnswerKind = None

    def run(self) -> None:
        """Score all runs, and print a table for the test tasks that some of them share."""
        from tam.evaluation.floors import floors
        from tam.learner.evaluating import open_run
        from tam.report.side_by_side import Compared, comparison
        from tam.training.scoring import score_splits

        if not self.run_folders:
            raise UserError("give the folder of one run or more")
        compared: list[Compared] = []
        known: dict[tuple[object, ...], dict[str, list[KShotScore]]] = {}
        for name in self.run_folders:
            folder = path_of(name, "RUN")
            opened = open_run(folder, self.shots, device=self.device, tasks=other_tasks(self, folder))
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
