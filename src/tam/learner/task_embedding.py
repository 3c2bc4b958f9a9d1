"""A task embedding: what was learned about one task, as a plain value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tam.errors import UserError
from tam.io import (
    STRING,
    TRUTH,
    Part,
    check_parts,
    finite,
    infinite_if_none,
    is_list_of,
    json_text,
    number_or_null,
    path_of,
    read_json,
    replacing,
)
from tam.tasks.task import Example, Label


class EmbeddingError(UserError):
    """A task embedding that cannot be used."""


@dataclass(frozen=True, eq=False)
class TaskEmbedding:
    """The vector that `Learner.adapt` fits, with what is needed to use it again.

    Two are equal if they give the same answers, even if their losses differ.

    Attributes:
        vector: The fitted numbers.
        labels: The task's labels in the order of the class ids; empty for transduction.
        model: The identity of the model it belongs to; no other model can use it.
        loss: The loss on the examples that it was fitted to.
        primitives: In a compositional model the task's primitives, including the fitted one.
        is_support: Whether the vector holds the examples themselves, for methods that read the support; such
            embeddings have neither a mean nor a similarity.
        searches: The number of searches for it. If several, the vector holds the weight and numbers of each.
        examples: The examples it was fitted to, if the model needs them to make hints; else empty.
    """

    vector: NDArray[np.float32]
    labels: tuple[Label, ...]
    model: str
    loss: float
    primitives: tuple[str, ...] = ()
    is_support: bool = False
    searches: int = 1
    examples: tuple[Example, ...] = ()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TaskEmbedding)
            and (self.labels, self.model, self.primitives, self.is_support, self.searches, self.examples)
            == (other.labels, other.model, other.primitives, other.is_support, other.searches, other.examples)
            and np.array_equal(self.vector, other.vector)
        )

    def __hash__(self) -> int:
        return hash((self.vector.tobytes(), self.labels, self.model))

    def __repr__(self) -> str:
        return f"TaskEmbedding of {len(self.vector)} numbers (loss {self.loss:.3f})"

    @property
    def point(self) -> NDArray[np.float32]:
        """The task as one point: the vector, or the weighted mean over several searches."""
        if self.searches == 1:
            return self.vector
        rows = self.vector.reshape(self.searches, -1)
        return rows[:, 0] @ rows[:, 1:]

    def similarity(self, other: "TaskEmbedding") -> float:
        """The cosine similarity of the points of two embeddings of one model."""
        self._check_same(other)
        lengths = np.linalg.norm(self.point) * np.linalg.norm(other.point)
        return float(self.point @ other.point / lengths) if lengths else 0.0

    @classmethod
    def mean(cls, embeddings: Iterable["TaskEmbedding"]) -> "TaskEmbedding":
        """The mean of embeddings of one task, fitted to different examples.

        If each has several searches, the mean has all of them, with their weights.
        """
        each = list(embeddings)
        if not each:
            raise UserError("a mean needs at least one task embedding")
        first = each[0]
        for other in each:
            first._check_same(other)
            if (other.labels, other.primitives) != (first.labels, first.primitives):
                raise UserError("a mean needs embeddings of tasks with the same labels and primitives")
        searches = sum(e.searches for e in each)
        if searches > len(each):
            rows = np.concatenate([e.vector.reshape(e.searches, -1) for e in each])
            rows[:, 0] /= len(each)
            vector = rows.flatten()
        else:
            searches = 1
            vector = np.stack([e.vector for e in each]).mean(0, dtype=np.float64).astype(np.float32)
        return replace(
            first,
            vector=vector,
            loss=float(np.mean([e.loss for e in each])),
            searches=searches,
            examples=tuple(example for e in each for example in e.examples),
        )

    def _check_same(self, other: "TaskEmbedding") -> None:
        if self.model != other.model:
            raise UserError("these task embeddings belong to different models")
        if self.is_support or other.is_support:
            raise UserError(
                "task embeddings that hold the examples themselves have neither a mean nor a similarity: "
                "use a method that fits a vector to each task, such as tam"
            )

    def to_json(self) -> dict[str, Any]:
        """Convert to plain values; float32 numbers survive exactly."""
        values = {
            "model": self.model,
            "labels": list(self.labels),
            "primitives": list(self.primitives),
            "loss": finite(self.loss),
            "is_support": self.is_support,
            "searches": self.searches,
            "vector": [float(value) for value in self.vector],
        }
        if self.examples:
            values["examples"] = [example._asdict() for example in self.examples]
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TaskEmbedding":
        """Convert from plain values."""
        try:
            optional = {"is_support": False, "searches": 1, "examples": []}  # may be missing
            given: dict[str, Any] = {**optional, **values}
            check_parts(given, _PARTS)
            if unknown := [name for name in given if name not in _PARTS]:
                raise ValueError(f"its fields must be {', '.join(_PARTS)}: got {unknown[0]!r}")
            with np.errstate(over="ignore"):
                vector = np.array(given["vector"], dtype=np.float64).astype(np.float32)
            if not np.isfinite(vector).all():
                raise ValueError("vector must be a list of finite numbers")
            given["labels"], given["primitives"] = tuple(given["labels"]), tuple(given["primitives"])
            given["examples"] = tuple(Example(one["x"], one["y"]) for one in given["examples"])
            given["loss"], given["vector"] = float(infinite_if_none(given["loss"])), vector
            return cls(**given)
        except (UserError, TypeError, ValueError, OverflowError) as error:
            raise EmbeddingError(f"not a task embedding: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write it as JSON, atomically."""
        if not np.isfinite(self.vector).all():
            raise EmbeddingError(f"{path}: cannot be written: the vector is not finite")
        with replacing(path) as file:
            file.write_text(json_text(self.to_json()) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "TaskEmbedding":
        """Read what `save` wrote."""
        values = read_json(path_of(path))
        try:
            return cls.from_json(values)
        except UserError as error:
            raise EmbeddingError(f"{path}: {error}") from None


def _are_labels(value: Any) -> bool:
    return is_list_of(int, str)(value) and len(set(value)) == len(value)


def _are_examples(value: Any) -> bool:
    return is_list_of(dict)(value) and all(one.keys() == {"x", "y"} for one in value)


_PARTS = {
    "model": STRING,
    "labels": Part(_are_labels, "a list of different integers or strings"),
    "primitives": Part(is_list_of(str), "a list of strings"),
    "loss": number_or_null("an infinite one"),
    "is_support": TRUTH,
    "searches": Part(lambda value: type(value) is int and value >= 1, "an integer of at least 1"),
    "vector": Part(is_list_of(int, float), "a list of numbers"),
    "examples": Part(_are_examples, 'a list of objects with "x" and "y"'),
}
