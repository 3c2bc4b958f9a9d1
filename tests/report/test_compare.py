"""What is better, within error, worse or missing."""

import math
from typing import Any

import pytest

from tam.report.compare import Estimate, Verdict, estimate, gain, verdict


def score(value: float | None, interval: float | None = 0.02) -> dict[str, Any]:
    return {"perplexity": value, "perplexity_interval": interval}


def test_several_runs_have_a_deviation_and_one_has_its_interval() -> None:
    assert estimate("perplexity", [score(1.5)]) == Estimate(1.5, 0.02, 1)
    found = estimate("perplexity", [score(1.0), score(2.0), score(3.0)])
    assert found == Estimate(2.0, 1.0, 3)
    assert estimate("perplexity", [score(1.0), score(None)]) == Estimate(math.inf, None, 2)


@pytest.mark.parametrize(
    ("metric", "ours", "theirs", "found"),
    [
        ("accuracy", (0.80, 0.03), (0.75, 0.04), "within error"),  # √(3² + 4²) = 5
        ("accuracy", (0.801, 0.03), (0.75, 0.04), "better"),
        ("accuracy", (0.699, 0.03), (0.75, 0.04), "worse"),
        ("perplexity", (1.2, 0.0), (1.3, 0.0), "better"),
        ("perplexity", (1.3, None), (1.3, None), "within error"),
        ("perplexity", (math.inf, None), (9.0, 1.0), "worse"),
    ],
)
def test_verdicts(
    metric: str, ours: tuple[float, float | None], theirs: tuple[float, float | None], found: Verdict
) -> None:
    assert verdict(metric, Estimate(ours[0], ours[1], 4), Estimate(theirs[0], theirs[1], 0)) == found


def test_missing_and_infinite_scores() -> None:
    assert verdict("accuracy", None, Estimate(0.5, 0.1, 0)) == "missing"
    assert gain("perplexity", Estimate(math.inf, None, 1), Estimate(math.inf, None, 1)) == 0
