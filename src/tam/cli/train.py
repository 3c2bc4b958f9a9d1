"""`tam train`: train on a benchmark or on your own tasks, evaluate, and show the result."""

import os
import shlex
import sys
import time
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import tyro

from tam.cli.exit import hint_resume
from tam.cli.options import MethodOptions, Name, NetworkOptions, ProtocolOptions, TrainingOptions, optional
from tam.cli.tasks import (
    READING,
    AnswerKind,
    ColumnNames,
    FoldOption,
    Splits,
    Text,
    note_on_splits,
    note_on_text,
    prior_source,
    source_of,
)
from tam.config.config import Config
from tam.config.presets import Preset
from tam.errors import UserError
from tam.io import exists, path_of

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
    minutes: Annotated[float | None, optional("MINUTES")] = None
    """Choose network, batch, steps and scoring to finish in this many minutes on this machine, after timing a
    few steps; the choice is printed. Options you give are kept."""
    resume: bool = False
    """Continue a stopped run: repeat its command with this option."""
    track: Annotated[Literal["tensorboard", "trackio", "wandb"] | None, optional()] = None
    """Also send losses and scores to this tracker; needs the extra of the same name."""
    seed: int = 0
    """Seed of the initialisation and of every random draw in training."""
    device: str = "auto"
    """auto (cuda if there is a GPU, else cpu), cpu, cuda, or one of several GPUs, such as cuda:1."""
    tasks_seed: int = 0
    """Seed of the benchmark's tasks, or of the split of a file without splits."""
    compositional: bool = False
    """Use the compositional form: new tasks have one primitive that training never showed."""
    holdout: Annotated[int | None, optional("INT")] = None
    """Which primitives are held out, 0 to 7; compositional only."""
    prior: Annotated[str | None, optional("NAME")] = None
    """Your own tasks: also train on lists (generated programs on lists of integers, as long and as large as
    yours), a benchmark, or a file of tasks. Validation and test tasks are only yours."""
    prior_tasks: Annotated[int | None, optional("INT")] = None
    """Number of generated tasks, or of a benchmark's training tasks; 2000 if not given."""
    splits: Splits = None
    fold: FoldOption = None
    text: Text = None
    kind: AnswerKind = None
    columns: ColumnNames = None
    network: NetworkOptions = field(default_factory=NetworkOptions)
    method_settings: MethodOptions = field(default_factory=MethodOptions)
    training: TrainingOptions = field(default_factory=TrainingOptions)
    protocol: ProtocolOptions = field(default_factory=ProtocolOptions)

    @property
    def given(self) -> dict[str, Any]:
        """The settings given on the command line."""
        settings = {**self.network, **self.method_settings, **self.training, **self.protocol}
        if os.path.isdir(encoder := settings.get("encoder") or ""):
            settings["encoder"] = os.path.abspath(encoder)  # a stopped run may be resumed from elsewhere
        return settings

    @property
    def config(self) -> Config:
        """The preset, overridden by the settings given."""
        from tam.training.preflight import real_device

        device = real_device(self.device)
        return Config.from_preset(
            self.preset, self.method, self.source, seed=self.seed, device=device, **self.given
        )

    def _task_source(self, config: Config) -> dict[str, Any]:
        """Return the source of the tasks, as in a config."""
        from tam.tasks.text import tokenizer_file

        if self.tasks_seed < 0:
            raise UserError(f"--tasks-seed must be at least 0: got {self.tasks_seed}")
        seed = self.tasks_seed or None
        options = {"seed": seed, "compositional": self.compositional, "holdout": self.holdout}
        reading = {name: getattr(self, name) for name in READING}
        if config.network.encoder is not None and self.text is None:
            reading["text"] = tokenizer_file(config.network.encoder)
        source = source_of(self.source, options, reading)
        if self.prior is not None:
            source["prior"] = prior_source(self.prior, self.prior_tasks, self.tasks_seed)
        return source

    def run(self) -> None:
        """Train, evaluate and show."""
        started = time.monotonic()

        from tam.report.curve import draw_scores, score_table
        from tam.report.progress import progress
        from tam.training.distribution import is_first
        from tam.training.log import TrainingLog
        from tam.training.minutes import settle
        from tam.training.preflight import prepare
        from tam.training.run import check_new, load_tasks, read_config, read_result, run, start
        from tam.training.tracking import make_tracker, tracked

        config, folder = self.config, path_of(self.out, "--out")
        stored = None
        if self.resume and exists(folder / "config.json"):
            stored, _ = read_config(folder / "config.json")
            config = replace(config, device=stored.device) if self.device == "auto" else config
        tracker = None if self.track is None else make_tracker(self.track)
        source = self._task_source(config)
        if not self.resume:
            check_new(folder)
        with progress("making the tasks") as tell:
            tasks = load_tasks(source, tell)
        if self.minutes is not None and not exists(folder / "config.json") and is_first():
            print("measuring what a step and a validation take here ...", file=sys.stderr)
        settled = settle(
            config,
            tasks,
            folder,
            preset=self.preset,
            given=self.given,
            minutes=self.minutes,
            stored=stored,
            since=started,
        )
        setup = prepare(settled.config, tasks)
        setup = replace(setup, notes=(*settled.notes, *setup.notes))
        config = setup.config
        start(folder, config, source, resume=self.resume)
        with hint_resume():
            if is_first() and read_result(folder) is None:
                where = f"everything goes to {folder}/"
                print(f"training {config.method} on {self.source}; {where}", file=sys.stderr)
                for note in filter(None, (note_on_splits(tasks), note_on_text(tasks))):
                    print(f"note: {note}", file=sys.stderr)
            described = {"tasks": source, **config.to_json()}
            with (
                TrainingLog(config.training.steps, config.training.max_seconds) as shown,
                tracked(tracker, folder, described, shown) as log,
            ):
                result = run(setup, folder, log)
            if not result:
                return  # another process of this run has the result
            pictures = draw_scores(result, folder / "scores")
        print(f"\n{score_table(result)}\n\npicture: {', '.join(map(str, pictures))}")
        out = shlex.quote(str(folder))
        print(f"next: tam eval {out}, or tam adapt {out} EXAMPLES.jsonl --out my-rule.json")
