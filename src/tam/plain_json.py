"""JSON that every reader takes: it has no infinite number, so null stands for one."""

import json
import math
from typing import Any


def finite(value: float) -> float | None:
    """A number as JSON can hold it: None for one that is infinite, or no number."""
    return value if math.isfinite(value) else None


def infinite_if_none(value: float | None) -> float:
    """The number that `finite` made this of."""
    return math.inf if value is None else value


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON; an infinite number in it is a bug, and raises ValueError.

    >>> json_text({"perplexity": finite(math.inf)})
    '{"perplexity": null}'
    """
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
