"""A stored task, as a value and as a line of JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tam.errors import UserError, shown
from tam.io import OBJECT, STRING, Part, check_parts, is_list_of, json_text
from tam.learner.inputs import ExamplesError, plain_examples
from tam.learner.task_embedding import TaskEmbedding
from tam.tasks.task import Example
from tam.tasks.text import TextSplitter

LONGEST_NAME = 200


@dataclass(frozen=True)
class StoredTask:
    """A task of a store.

    Attributes:
        name: Its name, unique in the store.
        embedding: Its task embedding.
        examples: The examples it was learned from.
        notes: Anything you want to remember about it.
        created: When it was stored, in UTC.
    """

    name: str
    embedding: TaskEmbedding
    examples: list[Example]
    notes: str
    created: str

    def to_json(self) -> dict[str, Any]:
        """Convert to plain values."""
        return {
            "task": self.name,
            "notes": self.notes,
            "created": self.created,
            "examples": [example._asdict() for example in self.examples],
            "embedding": self.embedding.to_json(),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "StoredTask":
        """Create from plain values."""
        check_parts(values, _PARTS)
        pairs = [(one.get("x"), one.get("y")) for one in values["examples"]]
        return cls(
            checked_name(values["task"]),
            TaskEmbedding.from_json(values["embedding"]),
            encodable_examples(values["task"], pairs),
            checked_notes(values["notes"]),
            values["created"],
        )


@dataclass(frozen=True)
class Listed:
    """An entry in the list of tasks.

    Attributes:
        name: Its name.
        examples: The number of examples it was learned from.
        loss: The loss on them; infinite if unknown.
        weights: The identity of the weights that learned it: a model may have different ones for different k.
        notes: Its notes.
        created: When it was stored, in UTC.
    """

    name: str
    examples: int
    loss: float
    weights: str
    notes: str
    created: str


_PARTS = {
    "task": STRING,
    "notes": STRING,
    "created": STRING,
    "examples": Part(is_list_of(dict), "a list of objects"),
    "embedding": OBJECT,
}


def checked_name(name: Any) -> str:
    """Check that a name is printable and can be the last part of a URL."""
    if not isinstance(name, str) or not name or len(name) > LONGEST_NAME or not name.isprintable():
        expected = f"1 to {LONGEST_NAME} printable characters"
        raise UserError(f"the name of a task must have {expected}: got {shown(name)}")
    if name in (".", ".."):
        raise UserError(f"the name of a task must not be {name!r}")
    return name


def checked_notes(notes: Any) -> str:
    """Check that notes can be encoded as UTF-8."""
    if not isinstance(notes, str) or any("\ud800" <= char <= "\udfff" for char in notes):
        raise UserError(f"notes must be text without lone surrogates: got {shown(notes)}")
    return notes


def encodable_examples(
    name: str, examples: Iterable[Any], split: TextSplitter | None = None
) -> list[Example]:
    """Convert examples to plain values, and check that they can be encoded as UTF-8."""
    found = plain_examples(f"task {name!r}", examples, split)
    try:
        json_text(found).encode()
    except UnicodeEncodeError:
        raise ExamplesError(f"task {name!r}", "strings must not contain a lone surrogate") from None
    return found
