"""A job: a named run of one method on one benchmark."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tam.config.config import Config
from tam.errors import UserError
from tam.tasks.benchmark import BenchmarkOptions

Values = dict[str, Any]

PLANNED = ("steps", "validate_every")
"""The settings that follow from a budget and the time of a step."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is run, and under which name."""

    name: str
    """The result is `NAME.json`."""
    group: str
    tasks: Mapping[str, Any]
    """The options of the benchmark."""
    method: str = "tam"
    preset: str = "best"
    values: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the preset."""
    seed: int = 0
    seconds: float | None = None
    """GPU-seconds to train for, instead of the preset's number of steps."""
    seconds_of: str | None = None
    """The run whose GPU-seconds are this job's budget."""
    device: str | None = None
    """Where it must run; if not given, where the runner is told to."""
    alone: bool = False
    """Whether no other job may run at the same time, because its time by the clock is a result."""

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise UserError(f"{self.name}: seconds must be above 0: got {self.seconds!r}")

    @property
    def has_budget(self) -> bool:
        """Whether its number of steps is planned from GPU-seconds."""
        return self.seconds is not None or self.seconds_of is not None

    @property
    def options(self) -> dict[str, Any]:
        """All options of its benchmark, as results have them."""
        given = asdict(BenchmarkOptions(**self.tasks))
        return {name: value for name, value in given.items() if value is not None}

    def config(self, device: str) -> Config:
        """Its settings on a device; with a budget, `steps` and `validate_every` are still the preset's."""
        where = self.device or device
        values = dict(self.values) | {"seed": self.seed, "device": where}
        config = Config.from_preset(self.preset, self.method, self.tasks["name"], **values)
        return config.override(precision="float32") if where == "cpu" else config

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)
