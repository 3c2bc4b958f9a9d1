"""`tam train`: train on a benchmark or on your own tasks, evaluate, and show the result."""

import shlex
import sys
from dataclasses import dataclass, field
from typing import Annotated

import tyro

from tam.cli.exit import hint_resume
from tam.cli.options import MethodOptions, Name, NetworkOptions, ProtocolOptions, TrainingOptions, optional
from tam.cli.tasks import READING, AnswerKind, FoldOption, Splits, Text, note_on_splits, source_of
from tam.config.config import Config
from tam.config.presets import Preset
from tam.errors import UserError
from tam.io import path_of

_PRESET = (
    "Settings to start from: smoke (seconds), quick (minutes on a CPU), paper, or best (ours, for a GPU). "
    "The options below show their values in quick and in paper; a method or a benchmark may have its own, "
    "and the config.json of a run has those it used."
)


@dataclass(frozen=True)
class Train:
    """Train on a benchmark or on your own tasks, evaluate, and show the result."""

    source: Name
    """classification, transduction, pathfinding, or a JSONL, CSV or Parquet file or a folder of tasks."""
    out: Annotated[str, tyro.conf.arg(metavar="FOLDER")]
    """A new folder for the run; with --resume, the folder of the run to continue."""
    method: str = "tam"
    """The method: tam, agnostic, multitask, maml, cavia, snail, matching, prototypical or nearest."""
    preset: Annotated[Preset, tyro.conf.arg(help=_PRESET)] = "quick"
    resume: bool = False
    """Continue a stopped run: repeat its command with this option."""
    seed: int = 0
    """Seed of the initialisation and of every random draw in training."""
    device: str = "cpu"
    """cpu, cuda, or one of several GPUs, such as cuda:1."""
    tasks_seed: int = 0
    """Seed of the benchmark's tasks, or of the split of a file without splits."""
    compositional: bool = False
    """Use the compositional form: new tasks have one primitive that training never showed."""
    holdout: Annotated[int | None, optional("INT")] = None
    """Which primitives are held out, 0 to 7; compositional only."""
    splits: Splits = None
    fold: FoldOption = None
    text: Text = None
    kind: AnswerKind = None
    network: NetworkOptions = field(default_factory=NetworkOptions)
    method_settings: MethodOptions = field(default_factory=MethodOptions)
    training: TrainingOptions = field(default_factory=TrainingOptions)
    protocol: ProtocolOptions = field(default_factory=ProtocolOptions)

    @property
    def config(self) -> Config:
        """The preset with what was given."""
        given = {**self.network, **self.method_settings, **self.training, **self.protocol}
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
        reading = {name: getattr(self, name) for name in READING}
        source = source_of(self.source, {"seed": self.tasks_seed or None, **options}, reading)
        with progress("making the tasks") as tell:
            tasks = load_tasks(source, tell)
        setup = prepare(config, tasks)
        start(folder, config, source, resume=self.resume)
        with hint_resume():
            if is_first() and read_result(folder) is None:
                where = f"everything goes to {folder}/"
                print(f"training {config.method} on {self.source}; {where}", file=sys.stderr)
                if note := note_on_splits(tasks):
                    print(f"note: {note}", file=sys.stderr)
            with TrainingLog(config.training.steps) as log:
                result = run(setup, folder, log)
            if not result:
                return  # another process of this run has it
            pictures = draw(result, folder / "scores")
        print(f"\n{score_table(result)}\n\npicture: {', '.join(map(str, pictures))}")
        out = shlex.quote(str(folder))
        print(f"next: tam eval {out}, or tam adapt {out} EXAMPLES.jsonl --out my-rule.json")
