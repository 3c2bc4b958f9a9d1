"""A task embedding: what was learned of one task, as a plain value."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tam.config import read_json
from tam.errors import UserError
from tam.tasks.task import Label


@dataclass(frozen=True, eq=False)
class TaskEmbedding:
    """The vector that `Learner.adapt` fits, with what is needed to use it again.

    Attributes:
        vector: The fitted numbers.
        labels: The task's labels in the order of the class ids; empty for transduction.
        model: Which model it belongs to; it means nothing to another.
        loss: The loss on the examples that it was fitted to.
        primitives: In a compositional model the task's primitives, the fitted one included.
        is_support: Whether the numbers are the examples themselves, as with methods that look at them: such
            embeddings have neither an average nor a similarity.
    """

    vector: NDArray[np.float32]
    labels: tuple[Label, ...]
    model: str
    loss: float
    primitives: tuple[str, ...] = ()
    is_support: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaskEmbedding) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.vector.tobytes(), self.labels, self.model))

    def __repr__(self) -> str:
        return f"TaskEmbedding of {len(self.vector)} numbers (loss {self.loss:.3f})"

    def similarity(self, other: "TaskEmbedding") -> float:
        """The cosine of the angle between two embeddings of one model."""
        self._check_same(other)
        lengths = np.linalg.norm(self.vector) * np.linalg.norm(other.vector)
        return float(self.vector @ other.vector / lengths) if lengths else 0.0

    @classmethod
    def mean(cls, embeddings: Sequence["TaskEmbedding"]) -> "TaskEmbedding":
        """The average of embeddings of one task, fitted to different examples."""
        if not embeddings:
            raise UserError("an average needs one task embedding or more, not none")
        first = embeddings[0]
        for other in embeddings:
            first._check_same(other)
            if (other.labels, other.primitives) != (first.labels, first.primitives):
                raise UserError(
                    "only embeddings of tasks with the same labels and primitives have an average"
                )
        vector = np.stack([e.vector for e in embeddings]).mean(0, dtype=np.float64).astype(np.float32)
        loss = float(np.mean([e.loss for e in embeddings]))
        return cls(vector, first.labels, first.model, loss, first.primitives)

    def _check_same(self, other: "TaskEmbedding") -> None:
        if self.model != other.model:
            raise UserError("these task embeddings belong to different models")
        if self.is_support or other.is_support:
            raise UserError(
                "these task embeddings hold the examples themselves, which have neither an average nor a "
                "similarity; a method that fits numbers to a task, such as tam, gives embeddings that have"
            )

    def to_json(self) -> dict[str, Any]:
        """As plain values; float32 numbers survive exactly."""
        return {
            "model": self.model,
            "labels": list(self.labels),
            "primitives": list(self.primitives),
            "loss": self.loss,
            "is_support": self.is_support,
            "vector": [float(value) for value in self.vector],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TaskEmbedding":
        """From plain values."""
        try:
            vector = np.array(values["vector"], dtype=np.float32)
            if vector.ndim != 1 or not np.isfinite(vector).all():
                raise ValueError("vector is a list of finite numbers")
            labels, primitives = tuple(values["labels"]), tuple(values["primitives"])
            is_support = values.get("is_support", False)  # older files do not say
            if not isinstance(is_support, bool):
                raise ValueError("is_support is true or false")
            return cls(vector, labels, str(values["model"]), float(values["loss"]), primitives, is_support)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"not a task embedding: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        Path(path).write_text(json.dumps(self.to_json(), ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "TaskEmbedding":
        """Read what `save` wrote."""
        values = read_json(Path(path))
        try:
            return cls.from_json(values)
        except UserError as error:
            raise UserError(f"{path}: {error}") from None
