from itertools import combinations

import numpy as np
import pytest

from tam.tasks.rng import Rng


def test_the_same_key_gives_the_same_stream_for_ever() -> None:
    """Written down once; a change would change every task set, and every cached file with it."""
    rng = Rng("golden", 7)
    assert rng.raw(2).tolist() == [7974966876654948223, 15026850293168869602]
    assert rng.integers(100, 6).tolist() == [39, 95, 11, 8, 50, 67]
    assert rng.permutation(6).tolist() == [3, 2, 1, 4, 0, 5]
    assert rng.exponentials(2).tolist() == pytest.approx([0.2530776013571526, 0.7629482322716212], rel=1e-15)


def test_the_key_names_the_stream() -> None:
    keys = [(), ("a",), ("b",), ("a", 0), ("a", 1), ("a", "1"), ("a", 1, 1), ("a", 11), (1, "a"), ("a1",)]
    streams = [Rng(*key).raw(4).tolist() for key in keys]
    assert all(one != other for one, other in combinations(streams, 2))
    assert Rng("a", 1).raw(4).tolist() == streams[4]


@pytest.mark.parametrize("high", [1, 2, 7, 100, 12**5])
def test_integers_are_uniform(high: int) -> None:
    drawn = Rng("integers", high).integers(high, 100_000)
    assert drawn.dtype == np.int64
    assert (drawn.min() >= 0, drawn.max() < high) == (True, True)
    bins = min(high, 10)
    shares = np.bincount(drawn * bins // high, minlength=bins) / len(drawn)
    expected = (
        np.array([len(range(-(-high * b // bins), -(-high * (b + 1) // bins))) for b in range(bins)]) / high
    )
    assert np.abs(shares - expected).max() < 0.006


def test_permutations_are_uniform() -> None:
    rng = Rng("permutations")
    found = [tuple(rng.permutation(3).tolist()) for _ in range(12_000)]
    assert {*found} == {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}
    assert all(abs(found.count(order) - 2_000) < 170 for order in {*found})
    assert sorted(rng.permutation(1_000).tolist()) == list(range(1_000))
    assert rng.permutation(0).tolist() == []


def test_exponentials() -> None:
    drawn = Rng("exponentials").exponentials(200_000)
    assert drawn.min() > 0
    assert np.isfinite(drawn).all()
    for point in (0.1, 0.5, 1.0, 3.0):
        assert (drawn > point).mean() == pytest.approx(np.exp(-point), abs=0.005)
