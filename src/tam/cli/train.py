"""`tam train`: train on a benchmark or on your own tasks, evaluate, and show the result."""

import shlex
import sys
from dataclasses import dataclass, field
from typing import Annotated

import tyro

from tam.cli.exit import hint_resume
from tam.cli.options import MethodOptions, Name, NetworkOptions, ProtocolOptions, TrainingOptions, optional
from tam.cli.tasks import source_of
from tam.config.config import Config
from tam.config.presets import Preset
from tam.errors import UserError
from tam.io import path_of


@dataclass(frozen=True)
class Train:
    """Train on a benchmark or on your own tasks, evaluate, and show the result."""

    source: Name
    """classification, transduction, pathfinding, or a JSONL file or folder of tasks."""
    out: Annotated[str, tyro.conf.arg(metavar="FOLDER")]
    """The folder of the run."""
    method: str = "tam"
    """How the shared weights are trained and how a new task is learned: tam, agnostic, multitask, maml,
    cavia, snail, matching, prototypical or nearest."""
    preset: Preset = "quick"
    """Where the settings below start from: smoke (seconds), quick (minutes), paper, best (ours)."""
    resume: bool = False
    """Continue a run that was stopped."""
    seed: int = 0
    """Initialisation and every draw of training follow from it."""
    device: str = "cpu"
    """cpu, or cuda."""
    tasks_seed: int = 0
    """The seed of the benchmark's tasks."""
    compositional: bool = False
    """The compositional form of the benchmark."""
    holdout: Annotated[int | None, optional("INT")] = None
    """Which of the 8 draws of unseen primitives; compositional only."""
    network: NetworkOptions = field(default_factory=NetworkOptions)
    settings: MethodOptions = field(default_factory=MethodOptions)
    training: TrainingOptions = field(default_factory=TrainingOptions)
    protocol: ProtocolOptions = field(default_factory=ProtocolOptions)

    @property
    def config(self) -> Config:
        """The preset with what was given."""
        given = {**self.network, **self.settings, **self.training, **self.protocol}
        return Config.from_preset(
            self.preset, self.method, self.source, seed=self.seed, device=self.device, **given
        )

    def run(self) -> None:
        """Train, evaluate and show."""
        from tam.report.curve import draw, score_table
        from tam.report.progress import progress
        from tam.training.distribution import is_first
        from tam.training.log import TrainingLog
        from tam.training.preflight import prepare
        from tam.training.run import load_tasks, read_result, run, start

        config, folder = self.config, path_of(self.out, "--out")
        if self.tasks_seed < 0:
            raise UserError(f"--tasks-seed must be at least 0: got {self.tasks_seed}")
        options = {"compositional": self.compositional, "holdout": self.holdout}
        source = source_of(self.source, {"seed": self.tasks_seed or None, **options})
        with progress("making the tasks") as tell:
            setup = prepare(config, load_tasks(source, tell))
        start(folder, config, source, resume=self.resume)
        with hint_resume():
            if is_first() and read_result(folder) is None:
                where = f"everything goes to {folder}/"
                print(f"training {config.method} on {self.source}; {where}", file=sys.stderr)
            with TrainingLog(config.training.steps) as log:
                result = run(setup, folder, log)
            if not result:
                return  # another process of this run has it
            pictures = draw(result, folder / "scores")
        print(f"\n{score_table(result)}\n\npicture: {', '.join(map(str, pictures))}")
        out = shlex.quote(str(folder))
        print(f"next: tam eval {out}, or tam adapt {out} EXAMPLES.jsonl --out my-rule.json")
