"""Limits of a server."""

from dataclasses import dataclass, fields

from tam.errors import SettingError


@dataclass(frozen=True)
class Limits:
    """Limits on requests; the model limits the length of sequences."""

    max_body: int = 2**20
    """Largest request, in bytes; a larger one gets status 413."""
    max_rows: int = 1024
    """Most rows or examples in a request; more get status 422."""
    max_queue: int = 16_384
    """Most rows and examples that may wait; requests that would exceed it get status 429."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if (value := getattr(self, field.name)) < 1:
                raise SettingError(f"{field.name} must be at least 1: got {value}")
