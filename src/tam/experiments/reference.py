"""Reference scores to compare results with: the paper's, and the ceiling of each benchmark."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

COMPARED_SHOTS = ("5", "10", "20")
"""The k at which a run must be as good as the paper's TAM."""


@cache
def reference() -> dict[str, dict[str, Any]]:
    """For each benchmark, `NAME` or `NAME compositional`: `paper` by method and k, and `ceiling` by k."""
    return json.loads(files("tam.experiments").joinpath("reference.json").read_text(encoding="utf-8"))


def paper_goal(benchmark: str) -> dict[str, float]:
    """The scores of the paper's TAM at each k: accuracy as a fraction, or perplexity."""
    return reference()[benchmark]["paper"]["tam"]


def seconds_to_paper(
    curve: Sequence[Mapping[str, Any]], metric: str, goal: Mapping[str, float]
) -> float | None:
    """Seconds until validation is as good as the paper's TAM at k = 5, 10 and 20; None if it never is."""

    def reached(scores: Mapping[str, Any], k: str) -> bool:
        score = scores[k][metric] if k in scores else None
        if score is None:
            return False
        return score >= goal[k] if metric == "accuracy" else score <= goal[k]

    for point in curve:
        if all(reached(point["scores"], k) for k in COMPARED_SHOTS):
            return point["seconds"]
    return None
