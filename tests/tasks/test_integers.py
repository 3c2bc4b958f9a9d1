import numpy as np
import pytest

from tam.tasks.integers import random_inputs
from tam.tasks.rng import Rng


@pytest.mark.parametrize("count", [1, 500, 200_000])
def test_random_inputs_are_different_and_in_random_order(count: int) -> None:
    """However many are asked for: of nearly all there are, many are drawn twice and must be made up for."""
    x = random_inputs(count, Rng("inputs", count))
    assert x.shape == (count, 5)
    assert len(np.unique(x, axis=0)) == count
    assert count == 1 or np.abs(x[: count // 2].mean(0) - 5.5).max() < 1
