"""What can be read off points linearly, beside plain reckoning."""

import numpy as np
import pytest

from tam.experiments import projection
from tam.experiments.projection import FOLDS, held_out_r2

RNG = np.random.default_rng(0)


def test_a_penalty_is_chosen_by_leaving_one_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short formula agrees with fitting once for each point that is left out."""
    points, penalty = RNG.normal(size=(12, 20)), 0.3
    target = points[:, 0] + 0.3 * RNG.normal(size=12)
    monkeypatch.setattr(projection, "PENALTIES", np.array([penalty]))
    monkeypatch.setattr(projection, "FOLDS", len(points))
    predicted = []
    for left_out in range(12):
        others = np.delete(np.arange(12), left_out)
        x, y = points[others] - points[others].mean(0), target[others] - target[others].mean()
        sizes = np.linalg.svd(x, compute_uv=False)
        scale = penalty * (sizes**2).sum() / len(sizes)
        weights = np.linalg.solve(x.T @ x + scale * np.eye(20), x.T @ y)
        predicted.append(target[others].mean() + (points[left_out] - points[others].mean(0)) @ weights)
    expected = 1 - ((target - predicted) ** 2).sum() / ((target - target.mean()) ** 2).sum()
    assert held_out_r2(points, target, np.arange(12)) == pytest.approx(expected)


def test_what_is_linear_is_read_off_and_noise_is_not() -> None:
    points, order = RNG.normal(size=(99, 128)), RNG.permutation(99)
    weights = RNG.normal(size=(2, 128))
    few = RNG.normal(size=(99, 2)) @ weights  # two directions of many
    target = few @ RNG.normal(size=128)
    assert held_out_r2(few + 0.01 * points, target, order) > 0.99
    assert held_out_r2(points, RNG.normal(size=99), order) < 0.2
    assert FOLDS * 9 == 99
