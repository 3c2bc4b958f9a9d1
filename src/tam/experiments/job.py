"""A job: a named run of one method on one benchmark."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tam.config.config import Config

Values = dict[str, Any]

PLANNED = ("steps", "validate_every")
"""The settings derived from a budget and the time of a step."""


@dataclass(frozen=True)
class Job:
    """A run of one method on one benchmark; `tam.experiments.results` locates its result."""

    name: str
    group: str
    """Its experiment; other experiments may use its result too."""
    tasks: Mapping[str, Any]
    """The options of the benchmark."""
    method: str = "tam"
    preset: str = "best"
    values: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the preset."""
    seed: int = 0
    seconds: float | None = None
    """The most GPU-seconds to train for; the preset's number of steps is a limit too."""
    seconds_of: str | None = None
    """The name of the job whose GPU-seconds are this job's budget."""
    device: str | None = None
    """The device it needs, which overrides that of the runner."""
    alone: bool = False
    """Whether no other job may run at the same time, because its wall time is a result."""

    @property
    def trial(self) -> int:
        """Its number among the runs behind one cell of a table: the hold-out or the seed."""
        return self.tasks.get("holdout") or self.seed

    @property
    def options(self) -> dict[str, Any]:
        """All options of its benchmark, as stored in its result."""
        from tam.tasks.benchmark import BenchmarkOptions  # imports numpy, which lists of jobs do not need

        given = asdict(BenchmarkOptions(**self.tasks))
        return {name: value for name, value in given.items() if value is not None}

    def config(self, device: str) -> Config:
        """Its settings on a device, before a budget sets `steps` and `validate_every`."""
        where = self.device or device
        values = dict(self.values) | {"seed": self.seed, "device": where}
        config = Config.from_preset(self.preset, self.method, self.tasks["name"], **values)
        return config.override(precision="float32") if where == "cpu" else config
