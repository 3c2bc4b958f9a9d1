"""The training state besides weights and optimiser, as written in the headers of files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tam.errors import UserError
from tam.evaluation.protocol import Choice
from tam.io import MALFORMED, finite, infinite_if_none


@dataclass
class Best:
    """The best validation at one k so far."""

    step: int
    quality: tuple[float, float]
    choice: Choice

    def to_json(self) -> list[Any]:
        """As plain values."""
        return [self.step, list(map(finite, self.quality)), list(self.choice)]

    @classmethod
    def from_json(cls, values: Any) -> "Best":
        """From plain values; raises one of `MALFORMED` if they do not describe a validation."""
        step, (first, second), (steps, rate) = values
        quality = (float(infinite_if_none(first)), float(infinite_if_none(second)))
        return cls(int(step), quality, Choice(int(steps), float(rate)))

    @classmethod
    def of_file(cls, header: Mapping[str, Any], path: Path) -> "Best":
        """From the header of a weights file."""
        try:
            return cls.from_json(header["best"])
        except MALFORMED as error:
            raise UserError(f"{path}: not the weights of a validation, or damaged ({error!r})") from None


@dataclass
class State:
    """The progress of a run."""

    step: int = 0
    seconds: float = 0.0
    best: dict[int, Best] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        best = {str(k): one.to_json() for k, one in self.best.items()}
        return {"step": self.step, "seconds": self.seconds, "best": best}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "State":
        """From plain values; raises one of `MALFORMED` if they do not describe a run."""
        best = {int(k): Best.from_json(one) for k, one in dict(values["best"]).items()}
        return cls(int(values["step"]), float(values["seconds"]), best)
