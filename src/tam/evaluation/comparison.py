"""Is one score better than another? The mean difference over their tasks, with an error bar."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tam.evaluation.protocol import KShotScore, half_interval


class Difference(NamedTuple):
    """The mean difference between two accuracies, and half the width of its 95 % interval over tasks."""

    mean: float
    interval: float  # NaN for a single task

    @property
    def is_clear(self) -> bool:
        """Whether the interval does not contain 0."""
        return not math.isnan(self.interval) and abs(self.mean) > self.interval


def difference(one: Sequence[KShotScore], other: Sequence[KShotScore]) -> Difference:
    """The accuracy of `one` above `other`: scores on the same tasks, of one run or averaged over several."""
    first, second = (
        np.mean([[task.accuracy for task in score.tasks] for score in scores], axis=0)
        for scores in (one, other)
    )
    return Difference(float((first - second).mean()), half_interval((first - second).tolist()))
