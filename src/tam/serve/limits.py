"""What a server takes at once."""

from dataclasses import dataclass, fields

from tam.errors import SettingError


@dataclass(frozen=True)
class Limits:
    """What a server takes at once; the model limits how long a sequence may be."""

    max_body: int = 2**20
    """Largest request, in bytes; a larger one is answered with 413."""
    max_rows: int = 1024
    """Most rows or examples of a request; more are answered with 422."""
    max_queue: int = 16_384
    """Most rows and examples that wait for their turn; what would exceed it is answered with 429."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if (value := getattr(self, field.name)) < 1:
                raise SettingError(f"{field.name} must be at least 1: got {value}")
