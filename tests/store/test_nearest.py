"""Nearest tasks and the map: exact, and as new as the file, whoever writes to it."""

import time
from pathlib import Path

import numpy as np
import pytest

import tam
from tam.store.index import Index, Points, principal_components
from tests.store.small import another, embedding, fill, pairs

RNG = np.random.default_rng(0)


def by_hand(
    made: dict[str, tam.TaskEmbedding], one: tam.TaskEmbedding, count: int, but: str = ""
) -> list[tuple[str, float]]:
    """The nearest tasks, each compared by itself."""
    found = [(name, one.similarity(other)) for name, other in made.items() if name != but]
    return sorted(found, key=lambda pair: -pair[1])[:count]


def same(found: list[tuple[str, float]], expected: list[tuple[str, float]]) -> bool:
    return [name for name, _ in found] == [name for name, _ in expected] and np.allclose(
        [value for _, value in found], [value for _, value in expected], atol=1e-5
    )


def random_store(store: tam.Store, count: int) -> dict[str, tam.TaskEmbedding]:
    made = {f"task {number}": embedding(RNG.normal(size=8)) for number in range(count)}
    for name, one in made.items():
        store.put(name, one, pairs(1))
    return made


def test_nearest_are_the_most_similar(tmp_path: Path) -> None:
    with tam.Store(tmp_path / "a.db") as store:
        made = random_store(store, 50)
        for count in (1, 7, 49, 100):
            found = store.nearest("task 3", count)
            assert same(list(found), by_hand(made, made["task 3"], count, but="task 3"))
        other = embedding(RNG.normal(size=8))
        assert same(list(store.nearest(other, 5)), by_hand(made, other, 5))
        with pytest.raises(tam.UserError, match="count must be at least 1"):
            store.nearest("task 3", 0)


def test_several_searches_are_compared_by_their_point(tmp_path: Path) -> None:
    made = {
        str(number): tam.TaskEmbedding(RNG.normal(size=10).astype(np.float32), (0,), "w", 0.0, searches=2)
        for number in range(6)
    }
    with tam.Store(tmp_path / "a.db") as store:
        for name, one in made.items():
            store.put(name, one, pairs(1))
        assert same(list(store.nearest("0", 5)), by_hand(made, made["0"], 5, but="0"))


def test_what_changes_is_seen_in_every_process(tmp_path: Path) -> None:
    """Put, replaced, renamed and removed, here and through another connection."""
    with tam.Store(tmp_path / "a.db") as one, tam.Store(tmp_path / "a.db") as two:
        made = random_store(one, 20)
        for number, writer in enumerate((one, two) * 10):
            for reader in (one, two):
                name = next(iter(made))
                assert same(list(reader.nearest(name, 30)), by_hand(made, made[name], 30, but=name))
                assert reader.embeddings(made) == made
            last = list(made)[-1]
            if number % 4 == 0:
                made[f"new {number}"] = embedding(RNG.normal(size=8))
                writer.put(f"new {number}", made[f"new {number}"], pairs(1))
            elif number % 4 == 1:
                writer.remove(last)
                del made[last]
            elif number % 4 == 2:
                made[last] = embedding(RNG.normal(size=8))
                writer.put(last, made[last], pairs(1), replace=True)
            else:
                writer.rename(last, f"renamed {number}")
                made[f"renamed {number}"] = made.pop(last)


def test_only_tasks_of_the_same_weights_are_compared(by_k: tam.Learner, tmp_path: Path) -> None:
    with tam.Store(tmp_path / "a.db", by_k) as store:
        for k in (1, 5):
            for number in range(4):
                store.put(f"{k}: {number}", by_k.adapt(pairs(number, k)), pairs(number, k))
        assert {one.name for one in store.nearest("1: 0", 10)} == {"1: 1", "1: 2", "1: 3"}
        assert {one.name for one in store.nearest(by_k.adapt(pairs(9, 5)), 10)} == {
            f"5: {number}" for number in range(4)
        }
        maps = {one.weights: set(one.names) for one in store.map()}
        assert maps == {by_k.identities_[k]: {f"{k}: {number}" for number in range(4)} for k in (1, 5)}


def test_after_readapting_neighbours_are_those_of_the_new_model(
    store: tam.Store, learner: tam.Learner
) -> None:
    fill(store, learner, 6)
    store.nearest("task 000")
    new = another(learner, seed=5)
    store.readapt(new)
    made = {name: new.adapt(pairs(number)) for number, name in enumerate(one.name for one in store.list())}
    assert same(list(store.nearest("task 000")), by_hand(made, made["task 000"], 10, but="task 000"))
    store.remove("task 005")
    made["task 999"] = made.pop("task 005")
    store.put("task 999", made["task 999"], pairs(5))
    assert same(list(store.nearest("task 000")), by_hand(made, made["task 000"], 10, but="task 000"))


def test_zeros_are_similar_to_nothing() -> None:
    points = Points(2)
    points.add([1, 2, 3], [np.zeros(2, np.float32), np.ones(2, np.float32), -np.ones(2, np.float32)])
    assert points.nearest(np.ones(2, np.float32), 3, None) == [
        (2, pytest.approx(1)), (1, 0.0), (3, pytest.approx(-1)),
    ]  # fmt: skip
    assert points.nearest(np.zeros(2, np.float32), 2, but=1) == [(2, 0.0), (3, 0.0)]


@pytest.mark.slow
def test_a_hundred_thousand_tasks_take_milliseconds() -> None:
    index, count, size = Index(), 100_000, 128
    vectors = RNG.normal(size=(count, size)).astype(np.float32)
    index.add((number + 1, "w", vector) for number, vector in enumerate(vectors))
    times = []
    for number in range(30):
        started = time.perf_counter()
        found = index.nearest("w", vectors[number], 10, but=number + 1)
        times.append(time.perf_counter() - started)
        assert len(found) == 10
    assert min(times) < 0.010


@pytest.mark.parametrize("shape", [(40, 6), (5, 30), (3, 1), (1, 4)])
def test_the_map_is_of_the_principal_components(shape: tuple[int, int]) -> None:
    points = RNG.normal(size=shape).astype(np.float32)
    found, shares = principal_components(points)
    centred = points - points.mean(0, dtype=np.float64)
    values, axes = np.linalg.eigh(centred.T @ centred)
    values, axes = values[::-1].clip(min=0), axes[:, ::-1]
    axes = np.where(axes[np.abs(axes).argmax(0), np.arange(len(axes))] < 0, -1, 1) * axes
    expected = np.zeros((shape[0], 2))
    expected[:, : min(2, shape[1])] = centred @ axes[:, :2]
    assert np.allclose(found, expected, atol=1e-4)
    variances = [*values.tolist(), 0.0, 0.0]
    assert shares == pytest.approx([value / (sum(variances) or 1) for value in variances[:2]], abs=1e-4)


def test_a_map_has_the_newest_tasks(tmp_path: Path) -> None:
    with tam.Store(tmp_path / "a.db") as store:
        random_store(store, 10)
        (found,) = store.map(limit=4)
        assert found.names == ["task 6", "task 7", "task 8", "task 9"]
        assert found.points.shape == (4, 2)
