"""The timing table: means over k and seeds of the time to the best weights, and of their quality."""

from typing import Any

import pytest

from tam.experiments.timing import Timed, timed, timing_report


def run(steps: dict[int, int], scores: list[float], step_ms: float) -> dict[str, Any]:
    """A result with these best steps and scores at each k."""
    return {
        "best_steps": {str(k): step for k, step in steps.items()},
        "scores": [
            {"k": k, "accuracy": score, "perplexity": score} for k, score in zip(steps, scores, strict=True)
        ],
        "step_ms": step_ms,
    }


def test_time_to_the_best_model() -> None:
    assert timing_report({}) == "timing: no run of Table 1 is finished"
    steps = {1: 100, 5: 200, 10: 300, 20: 400}
    results = {
        "tam-best-classification-0": run(steps, [0.4, 0.6, 0.8, 1.0], 10.0),  # 0.7 after 2.5 s
        "tam-best-classification-2": run(steps, [0.6, 0.6, 0.6, 0.6], 30.0),  # 0.6 after 7.5 s
    }
    for k in (1, 5, 10):
        results[f"snail-table1-classification-k{k}-0"] = run({k: 1000}, [k / 20], 100.0 * k)
    (found,) = timed(results)
    assert found[:3] == ("tam", "classification", "accuracy")
    assert found[3:] == pytest.approx((0.65, 5.0, 2))
    results["snail-table1-classification-k20-0"] = run({20: 1000}, [1.0], 2000.0)
    assert timed(results)[1:] == [Timed("snail", "classification", "accuracy", 0.45, 900.0, 1)]
    assert [" ".join(line.split()) for line in timing_report(results).splitlines()] == [
        "tam classification 65.0 %, 5 s",
        "snail classification 45.0 %, 15 min",
    ]
