"""A new model learns all tasks of a store again: all of them, or the store stays as it was."""

from pathlib import Path
from typing import Any

import pytest

import tam
from tam.store import readapting
from tam.store.store import OtherModelError
from tests.learner.small import untrained
from tests.store.small import alike, another, fill, pairs, with_best


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readapting, "_AT_ONCE", 2)


def test_all_tasks_are_learned_again(store: tam.Store, learner: tam.Learner) -> None:
    fill(store, learner, 5)
    store.put("with 5", learner.adapt(pairs(2, 5)), pairs(2, 5), notes="kept")
    new = with_best(another(learner, seed=1), seed=2)
    before, told = store.get("with 5"), list[tuple[int, int]]()
    assert store.readapt(new, lambda done, total: told.append((done, total))) == 6
    assert told == [(2, 6), (4, 6), (6, 6)]
    after = store.get("with 5")
    assert (after.notes, after.created, after.examples) == (before.notes, before.created, before.examples)
    assert alike(after.embedding, new.adapt(pairs(2, 5)))
    assert after.embedding.model != new.identity_  # those of k = 5
    assert alike(store.get("task 003").embedding, new.adapt(pairs(3)))
    assert alike(store.embeddings(["task 003"])["task 003"], new.adapt(pairs(3)))
    with tam.Store(store.path, new) as again:
        assert again.readapt(new) == 0  # nothing to do
    with pytest.raises(OtherModelError):
        tam.Store(store.path, learner)
    with pytest.raises(OtherModelError):
        store.put("old", learner.adapt(pairs(1)), pairs(1))


class Killed(BaseException):
    pass


def test_an_interrupted_one_changes_nothing_and_continues(
    store: tam.Store, learner: tam.Learner, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, new = fill(store, learner, 7), another(learner, seed=1)
    learned: list[int] = []
    adapt_many = new.adapt_many

    def counted(tasks: Any, *rest: Any) -> Any:
        learned.append(len(tasks))
        return adapt_many(tasks, *rest)

    monkeypatch.setattr(new, "adapt_many", counted)

    def stop(done: int, total: int) -> None:
        if done >= 4:
            raise Killed

    with pytest.raises(Killed):
        store.readapt(new, stop)
    assert learned == [2, 2]
    with tam.Store(store.path, learner) as old:
        assert old.embeddings(made) == made
        old.remove("task 000")
        old.put("late", learner.adapt(pairs(9)), pairs(9))
    learned.clear()
    assert store.readapt(new) == 7
    assert sum(learned) == 4
    assert alike(store.get("late").embedding, new.adapt(pairs(9)))
    assert alike(store.get("task 001").embedding, new.adapt(pairs(1)))


def test_another_model_starts_anew_and_stops_the_first(store: tam.Store, learner: tam.Learner) -> None:
    fill(store, learner, 5)
    first, second = another(learner, seed=1), another(learner, seed=2)

    def interfere(done: int, total: int) -> None:
        with tam.Store(store.path) as other:
            other.readapt(second)

    with pytest.raises(tam.UserError, match="another process learns"):
        store.readapt(first, interfere)
    assert alike(store.get("task 004").embedding, second.adapt(pairs(4)))
    assert store.readapt(first) == 5
    assert alike(store.get("task 004").embedding, first.adapt(pairs(4)))


def test_two_at_once_with_one_model(store: tam.Store, learner: tam.Learner) -> None:
    fill(store, learner, 5)
    new = another(learner, seed=1)

    def help_out(done: int, total: int) -> None:
        with tam.Store(store.path) as other:
            other.readapt(new)

    assert store.readapt(new, help_out) == 5
    assert alike(store.get("task 004").embedding, new.adapt(pairs(4)))


def test_tasks_that_do_not_fit_are_named_before_any_work(store: tam.Store, learner: tam.Learner) -> None:
    made = fill(store, learner, 5)
    sequences = untrained("tam", "transduction")
    with pytest.raises(tam.UserError, match=r"5 tasks do not fit the model: task 'task 000', .*; and 2 more"):
        store.readapt(sequences, lambda *_: pytest.fail("it began"))
    assert store.embeddings(made) == made
    tam.Store(store.path, learner).close()


def test_labels_are_no_text_to_a_model_of_sequences(store: tam.Store, learner: tam.Learner) -> None:
    examples = [([1], "1 2"), ([2], "2 1")]
    store.put("t", learner.adapt(examples), examples)
    with pytest.raises(tam.UserError, match="answers are labels, and those of the model are sequences"):
        store.readapt(untrained("tam", "transduction"))


def test_an_empty_store_becomes_one_of_the_new_model(tmp_path: Path, learner: tam.Learner) -> None:
    new = another(learner, seed=1)
    with tam.Store(tmp_path / "a.db", learner) as store:
        assert store.readapt(new) == 0
    tam.Store(tmp_path / "a.db", new).close()
