"""What determines generated tasks."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from tam.config.validate import check_integers, check_known
from tam.errors import SettingError, UserError, shown

Generator = Literal["lists"]

RANGES = {
    "tasks": (3, 1_000_000),
    "examples": (2, 10_000),
    "values": (2, 10_000),
    "shortest": (0, 1_000),
    "longest": (1, 1_000),
    "longest_answer": (1, 1_000),
    "seed": (0, 2**63 - 1),
}
"""The smallest and the largest value of each option."""


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """Everything that determines generated tasks, to the last example."""

    generator: Generator = "lists"
    """The generator: lists, for programs on lists of integers."""
    tasks: int = 2_000
    """Number of tasks; each is a different function."""
    examples: int = 32
    """Number of examples of each task."""
    values: int = 100
    """Numbers are from 0 to values - 1."""
    shortest: int = 0
    """Fewest numbers in an input."""
    longest: int = 10
    """Most numbers in an input."""
    longest_answer: int = 15
    """Most numbers in an answer."""
    seed: int = 0
    """Seed of everything random."""

    def __post_init__(self) -> None:
        if self.generator != "lists":
            raise UserError(f"there is no generator {shown(self.generator)}: it must be lists")
        check_integers(self, RANGES)
        if self.shortest > self.longest:
            raise SettingError(
                f"shortest must be at most longest: got shortest={self.shortest}, longest={self.longest}"
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "GenerateOptions":
        """Convert from plain values; missing fields get their defaults, unknown ones are an error."""
        check_known(values, [field.name for field in fields(cls)], "generated tasks have")
        return cls(**values)
