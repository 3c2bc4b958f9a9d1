"""Tasks are kept under names, and come back as they were."""

import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tam
from tam.store.store import OtherModelError, TaskExistsError, UnknownTaskError
from tests.learner.small import untrained
from tests.store.small import another, embedding, fill, pairs, with_best


def test_a_task_comes_back_as_it_was(learner: tam.Learner, tmp_path: Path) -> None:
    rule = learner.adapt(pairs(3))
    with tam.Store(tmp_path / "a.db", learner) as store:
        put = store.put("ärger/1 ☃", rule, pairs(3), notes="two\nlines")
    with tam.Store(tmp_path / "a.db") as store:
        found = store.get("ärger/1 ☃")
        assert found == put
        assert (found.embedding, found.embedding.loss) == (rule, rule.loss)
        assert [(x, y) for x, y in found.examples] == pairs(3)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found.created)
        assert "ärger/1 ☃" in store
        assert (len(store), "other" in store) == (1, False)
        assert learner.predict_proba(found.embedding, [[1]]) == learner.predict_proba(rule, [[1]])


@pytest.mark.parametrize(("method", "kind"), [("snail", "classification"), ("maml", "transduction")])
def test_embeddings_of_other_methods_come_back(method: str, kind: str, tmp_path: Path) -> None:
    learner = untrained(method, kind)
    examples: Any = pairs(1) if kind == "classification" else [([1, 2], [3]), ([4], [])]
    rule = learner.adapt(examples * learner.config.protocol.shots[0])
    with tam.Store(tmp_path / "a.db", learner) as store:
        store.put("a", rule, examples)
        assert store.get("a").embedding == rule
        assert store.get("a").examples == examples
        if rule.is_support:
            for use in (lambda: store.nearest("a"), store.map):
                with pytest.raises(tam.UserError, match="cannot be compared"):
                    use()


def test_tokens_of_other_libraries_are_stored_as_plain_values(store: tam.Store, learner: tam.Learner) -> None:
    examples: Any = [(np.array([1, 2]), np.int64(0)), ((3,), "b")]
    store.put("a", learner.adapt(examples), examples)
    assert store.get("a").examples == [([1, 2], 0), ([3], "b")]


def test_names_are_taken_once_unless_replaced(store: tam.Store, learner: tam.Learner) -> None:
    one, two = learner.adapt(pairs(1)), learner.adapt(pairs(2))
    store.put("a", one, pairs(1))
    with pytest.raises(TaskExistsError, match="'a' already"):
        store.put("a", two, pairs(2))
    assert store.get("a").embedding == one
    assert store.embeddings(["a", "b"]) == {"a": one}
    store.put("a", two, pairs(2), replace=True)
    assert store.embeddings(["a"]) == {"a": two}
    assert len(store) == 1


def test_rename_annotate_remove(store: tam.Store, learner: tam.Learner) -> None:
    made = fill(store, learner, 3)
    assert store.embeddings(made) == made  # now in memory
    store.rename("task 000", "first")
    store.annotate("first", "new notes")
    store.remove("task 001")
    assert [one.name for one in store.list()] == ["first", "task 002"]
    assert store.get("first").notes == "new notes"
    assert store.embeddings(["task 000", "task 001", "first"]) == {"first": made["task 000"]}
    with pytest.raises(TaskExistsError):
        store.rename("first", "task 002")
    for use in (
        lambda: store.get("none"),
        lambda: store.rename("none", "new"),
        lambda: store.annotate("none", ""),
        lambda: store.remove("none"),
        lambda: store.nearest("none"),
    ):
        with pytest.raises(UnknownTaskError, match="there is no task 'none'"):
            use()


def test_lists_and_searches(store: tam.Store, learner: tam.Learner) -> None:
    for name in ("Straße", "beta 2", "alpha [1]", "beta 10"):
        store.put(name, learner.adapt(pairs(1)), pairs(1), notes=f"of {name}")

    def names(*given: Any) -> list[str]:
        return [one.name for one in store.list(*given)]

    assert names() == ["Straße", "alpha [1]", "beta 10", "beta 2"]
    assert names("BETA") == ["beta 10", "beta 2"]
    assert names("beta ?") == ["beta 2"]
    assert names("[1]") == ["alpha [1]"]
    assert names("STRASSE") == ["Straße"]
    assert names("nothing") == []
    assert names(None, 2, 1) == ["alpha [1]", "beta 10"]
    (one,) = store.list("alpha")
    rule = store.get("alpha [1]").embedding
    assert (one.examples, one.loss, one.weights, one.notes) == (2, rule.loss, rule.model, "of alpha [1]")


@pytest.mark.parametrize("name", ["", " " * 201, "a\nb", "\x1b[31m", "\ud800", ".", "..", None, 5])
def test_names_that_cannot_be(name: Any, store: tam.Store, learner: tam.Learner) -> None:
    rule = learner.adapt(pairs(1))
    store.put("a", rule, pairs(1))
    for use in (lambda: store.put(name, rule, pairs(1)), lambda: store.rename("a", name)):
        with pytest.raises(tam.UserError, match=r"^the name of a task must"):
            use()
    assert [one.name for one in store.list()] == ["a"]


@pytest.mark.parametrize(
    "examples", [[], None, [1], [([1],)], [([1.5], 0)], [([1], None)], [(["\ud800"], 0)]]
)
def test_examples_that_cannot_be(examples: Any, store: tam.Store, learner: tam.Learner) -> None:
    with pytest.raises(tam.UserError, match=r"^task 'a'"):
        store.put("a", learner.adapt(pairs(1)), examples)
    assert len(store) == 0


def test_a_vector_that_is_not_finite_is_refused(store: tam.Store, learner: tam.Learner) -> None:
    rule = embedding([np.nan] * 8, learner.identity_)
    with pytest.raises(tam.UserError, match="not finite"):
        store.put("a", rule, pairs(1))
    assert len(store) == 0


def test_tasks_of_another_model_are_refused(store: tam.Store, learner: tam.Learner, tmp_path: Path) -> None:
    other = another(learner, seed=3)
    store.put("a", learner.adapt(pairs(1)), pairs(1))
    with pytest.raises(OtherModelError, match="task 'b' was learned by another model"):
        store.put("b", other.adapt(pairs(1)), pairs(1))
    with pytest.raises(OtherModelError, match=r"tasks\.db: its tasks belong to another model .* readapt"):
        tam.Store(store.path, other)
    with pytest.raises(OtherModelError, match="another model"):
        store.nearest(other.adapt(pairs(1)))
    assert len(tam.Store(store.path, learner)) == 1


def test_a_store_takes_all_weights_of_its_model(by_k: tam.Learner, tmp_path: Path) -> None:
    one, five = by_k.adapt(pairs(1)), by_k.adapt(pairs(1, 5))
    assert one.model != five.model
    path = tmp_path / "tasks.db"
    with tam.Store(path) as store:
        store.put("one", one, pairs(1))  # decides which weights
        with pytest.raises(OtherModelError):
            store.put("five", five, pairs(1, 5))
    with tam.Store(path, by_k) as store:  # the rest of the model's
        store.put("five", five, pairs(1, 5))
        assert store.counts() == {one.model: 1, five.model: 1}
        rules = store.embeddings(["one", "five"])
        assert by_k.predict([rules["one"], rules["five"]], [[1], [1]]) == [
            *by_k.predict(one, [[1]]),
            *by_k.predict(five, [[1]]),
        ]
    with pytest.raises(OtherModelError):
        tam.Store(path, with_best(untrained("tam"), seed=2))


def test_files_that_are_no_stores_are_left_alone(tmp_path: Path) -> None:
    text, other, newer = tmp_path / "text", tmp_path / "other.db", tmp_path / "newer.db"
    text.write_text("not a database at all " * 100)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (a)")
    tam.Store(newer).close()
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 2")
    folder = tmp_path / "folder"
    folder.mkdir()
    for file, about in (
        (text, "not a database"),
        (other, "another program"),
        (newer, "format must be 1"),
        (folder, "unable to open"),
        (tmp_path / "no" / "a.db", "unable to open"),
    ):
        before = file.read_bytes() if file.is_file() else None
        with pytest.raises(tam.UserError, match=f"^{re.escape(str(file))}: .*{about}"):
            tam.Store(file)
        assert (file.read_bytes() if file.is_file() else None) == before
