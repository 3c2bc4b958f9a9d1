"""`tam train`: train on a benchmark or on your own tasks, evaluate, and show the result."""

import os
import shlex
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_args

import tyro

from tam.cli.exit import a_run_to_resume
from tam.cli.parsing import path
from tam.config.config import Config
from tam.config.methods import MethodSettings, TamSettings
from tam.config.presets import PRESETS_BY_BENCHMARK, Preset
from tam.config.sections import Network, Protocol, Training
from tam.errors import SettingError, UserError


@dataclass(frozen=True)
class Train:
    """Train on a benchmark or on your own tasks, evaluate, and show the result."""

    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """classification, transduction, pathfinding, or a JSONL file or folder of tasks."""
    out: Annotated[Path, path("--out", "FOLDER")]
    """The folder of the run."""
    method: str = "tam"
    """How the shared weights are trained and how a new task is learned: tam, agnostic, multitask, maml,
    cavia, snail, matching, prototypical or nearest."""
    preset: Preset = "quick"
    """Where the settings below start from: smoke (seconds), quick (minutes), paper, best (ours)."""
    resume: bool = False
    """Take up a run that was stopped."""
    seed: int = 0
    """Initialisation and every draw of training follow from it."""
    device: str = "cpu"
    """cpu, or cuda."""
    tasks_seed: int = 0
    """The seed of the benchmark's tasks."""
    compositional: bool = False
    """The compositional form of the benchmark."""
    holdout: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Which of the 8 draws of unseen primitives; compositional only."""
    network: Network = field(default_factory=Network)
    settings: MethodSettings = field(default_factory=TamSettings)
    training: Training = field(default_factory=Training)
    protocol: Protocol = field(default_factory=Protocol)

    @classmethod
    def with_defaults_of(cls, arguments: list[str]) -> "type[Train]":
        """The same command with the settings of the preset that these arguments name as defaults."""
        preset = _value_of("--preset", arguments) or "quick"
        try:
            method = _value_of("--method", arguments) or "tam"
            base = Config.from_preset(preset, method, benchmark=_benchmark_of(arguments))
        except UserError:
            return cls  # it is said when the arguments are parsed
        parts = {name: getattr(base, name) for name in ("network", "settings", "training", "protocol")}
        namespace: dict[str, Any] = {
            "__annotations__": dict.fromkeys(parts, Any) | {n: type(p) for n, p in parts.items()},
            "__doc__": cls.__doc__,
            "__module__": cls.__module__,
        }
        namespace |= {name: field(default=part) for name, part in parts.items()}
        return dataclass(frozen=True)(type("Train", (cls,), namespace))

    def run(self) -> None:
        """Train, evaluate and show."""
        from tam.report.curve import draw, score_table
        from tam.report.progress import progress
        from tam.training.distribution import is_first
        from tam.training.log import TrainingLog
        from tam.training.run import check, load_tasks, read_result, run, start

        config, source = self._config(), self._source()
        with progress("making the tasks") as tell:
            tasks = load_tasks(source, tell)
        check(config, tasks)
        start(self.out, config, source, resume=self.resume)
        with a_run_to_resume():
            if is_first() and read_result(self.out) is None:
                where = f"everything goes to {self.out}/"
                print(f"training {config.method} on {self.source}; {where}", file=sys.stderr)
            with TrainingLog(config.training.steps) as log:
                result = run(config, tasks, self.out, log)
            if not result:
                return  # another process of this run has it
            pictures = draw(result, self.out / "scores")
        print(f"\n{score_table(result)}\n\npicture: {', '.join(map(str, pictures))}")
        out = shlex.quote(str(self.out))
        print(f"next: tam eval {out}, or tam adapt {out} EXAMPLES.jsonl --out my-rule.json")

    def _config(self) -> Config:
        return Config(
            method=self.method,
            seed=self.seed,
            device=self.device,
            network=self.network,
            settings=self.settings,
            training=self.training,
            protocol=self.protocol,
        )

    def _source(self) -> dict[str, Any]:
        from tam.tasks.benchmark import BenchmarkOptions, Name

        if not self.source:
            raise UserError(f"NAME is one of {list(get_args(Name))}, or a file or folder of tasks, not ''")
        if self.source not in get_args(Name) and os.path.exists(self.source):
            given = {"compositional": self.compositional, "tasks-seed": self.tasks_seed}
            if self.holdout is not None:
                given["holdout"] = True
            if named := [name for name, value in given.items() if value]:
                raise UserError(f"--{named[0]} has no effect on tasks that are read from a file")
            return {"path": str(Path(self.source).resolve())}
        if "/" in self.source or self.source.endswith(".jsonl"):
            raise UserError(f"{self.source}: there is no such file or folder")
        if self.tasks_seed < 0:
            raise SettingError(f"tasks_seed is at least 0, not {self.tasks_seed}")
        options = BenchmarkOptions(
            name=self.source,  # pyright: ignore[reportArgumentType]
            seed=self.tasks_seed,
            compositional=self.compositional,
            holdout=self.holdout,
        )
        return {name: value for name, value in asdict(options).items() if value is not None}


def _benchmark_of(arguments: list[str]) -> str | None:
    """The benchmark that these arguments name, if presets know it; wherever it stands."""
    known = {benchmark for _, _, benchmark in PRESETS_BY_BENCHMARK}
    before = ["", *arguments]
    named = (word for last, word in zip(before, arguments, strict=False) if word in known and last != "--out")
    return next(named, None)


def _value_of(option: str, arguments: list[str]) -> str | None:
    for place, argument in enumerate(arguments):
        if argument == option:
            return next(iter(arguments[place + 1 :]), None)
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
    return None
