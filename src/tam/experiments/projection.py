"""Measure how well a number can be predicted linearly from n points, `[n, d]`."""

import numpy as np
from numpy.typing import NDArray

from tam.tasks.task import Floats

FOLDS = 11
"""Parts into which the points are split, to hold out one at a time."""
PENALTIES = 10.0 ** np.arange(-6, 4)
"""Ridge penalties to choose from, relative to the mean variance of the points."""


def held_out_r2(points: Floats, target: Floats, order: NDArray[np.intp]) -> float:
    """R² of a ridge regression on held-out points.

    One part of the points `[n, d]` is held out at a time, neighbours in this random order together; the
    penalty is chosen on the rest by leave-one-out.
    """
    predicted = np.empty_like(target)
    for part in np.array_split(order, FOLDS):
        others = np.setdiff1d(order, part)
        predicted[part] = _ridge(points[others], target[others], points[part])
    return 1.0 - float(((target - predicted) ** 2).sum() / ((target - target.mean()) ** 2).sum())


def _ridge(points: Floats, target: Floats, new: Floats) -> Floats:
    """Predict new points by ridge regression, with the penalty of the least leave-one-out error."""
    centre, mean = points.mean(0), target.mean()
    u, sizes, axes = np.linalg.svd(points - centre, full_matrices=False)
    scale = max(float((sizes**2).sum()) / len(sizes), 1e-300)
    coefficients = u.T @ (target - mean)
    errors = []
    for penalty in PENALTIES:
        shrink = sizes**2 / (sizes**2 + penalty * scale)
        residuals = target - mean - u @ (shrink * coefficients)
        leverage = 1 / len(target) + (u**2) @ shrink
        errors.append(float(((residuals / np.maximum(1 - leverage, 1e-9)) ** 2).sum()))
    penalty = PENALTIES[int(np.argmin(errors))]
    weights = axes.T @ (sizes / (sizes**2 + penalty * scale) * coefficients)
    return mean + (new - centre) @ weights
