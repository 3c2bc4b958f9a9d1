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
    assert len({str(Rng(*key).raw(4)) for key in keys}) == len(keys)


def test_large_permutations_have_every_number_once() -> None:
    rng = Rng("permutations")
    assert sorted(rng.permutation(1_000).tolist()) == list(range(1_000))
    assert rng.permutation(0).tolist() == []
