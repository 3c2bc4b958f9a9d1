import numpy as np
import pytest

from tam.tasks.integers import inputs, random_inputs
from tam.tasks.rng import Rng


def test_inputs_by_number() -> None:
    assert inputs(np.array([0, 1, 12, 12**5 - 1])).tolist() == [
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 1, 0],
        [11, 11, 11, 11, 11],
    ]
    assert len(np.unique(inputs(np.arange(12**5)), axis=0)) == 12**5


@pytest.mark.parametrize("count", [1, 500, 100_000, 200_000])
def test_random_inputs_are_different_and_in_random_order(count: int) -> None:
    """However many are asked for: of nearly all there are, many are drawn twice and must be made up for."""
    x = random_inputs(count, Rng("inputs", count))
    assert x.shape == (count, 5)
    assert len(np.unique(x, axis=0)) == count
    if count > 1:
        for part in (x[: count // 2], x[count // 2 :]):
            assert np.abs(part.mean(0) - 5.5).max() < 1
