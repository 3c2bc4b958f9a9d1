"""Folds, and tasks whose support is fixed: each task is tested once, and a support is used as it is."""

from pathlib import Path
from typing import Any

import pytest

import tam
from tam.config.sections import Protocol
from tam.errors import SettingError, UserError
from tam.evaluation.protocol import episodes
from tam.tasks.jsonl import read_test_tasks
from tests.tasks.jsonl_files import message, names, record, save


def test_every_task_is_tested_in_one_fold(tmp_path: Path) -> None:
    file = save(tmp_path, [record(f"task {number}") for number in range(11)])
    folds = [names(tam.read_tasks(file, fold=f"{number}/4")) for number in range(1, 5)]
    tested = [name for fold in folds for name in fold["test"]]
    assert sorted(tested) == sorted(f"task {number}" for number in range(11))
    for fold, after in zip(folds, [*folds[1:], folds[0]], strict=True):
        assert set(fold["valid"]) == set(after["test"])
        assert len(fold["train"]) + len(fold["valid"]) + len(fold["test"]) == 11
        assert len(fold["test"]) in (2, 3)
    assert tam.read_tasks(file, fold="2/4").options == {"path": str(file), "seed": 0, "fold": "2/4"}
    assert names(tam.read_tasks(file, fold="1/4", seed=1)) != folds[0]


def test_folds_of_a_file(tmp_path: Path) -> None:
    file = save(tmp_path, [record(name) for name in "abcde"])
    folds = save(tmp_path, [[["a", "b"], ["c"], ["d", "e"]]], "folds.json")
    found = tam.read_tasks(file, splits=folds, fold="2")
    assert names(found) == {"train": ["a", "b"], "valid": ["d", "e"], "test": ["c"]}
    assert found.options == {"path": str(file), "splits": str(folds), "fold": "2"}
    assert names(tam.read_tasks(tmp_path, fold="3/3"))["test"] == ["d", "e"]  # a folder has its folds
    assert "there are 3 folds: got fold 2/4" in message(file, splits=folds, fold="2/4")
    assert "there are 3 folds: got fold 4" in message(file, splits=folds, fold="4")
    save(tmp_path, [[["a", "b"], ["c"], ["d", "a"]]], "folds.json")
    assert "'a' is in several" in message(file, splits=folds, fold="2")
    splits = save(tmp_path, [{"train": ["a", "b", "c"], "valid": ["d"], "test": ["e"]}], "splits.json")
    assert "fold 1/3 needs a file of folds" in message(file, splits=splits, fold="1/3")
    assert "a split both here and by fold 1/3" in message(
        save(tmp_path, [record(name, split="train") for name in "abc"], "own.jsonl"), fold="1/3"
    )
    assert "at least 6 tasks for 6 folds: got 5" in message(file, fold="1/6")


@pytest.mark.parametrize(
    "fold", ["0/5", "6/5", "1/2", "a/5", "1/", "/5", "-1/5", "", "1/5/5", "2", "9" * 5000]
)
def test_bad_folds(fold: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"^fold must "):
        tam.read_tasks(save(tmp_path, [record(name) for name in "abcde"]), fold=fold)


def test_a_file_of_test_tasks_is_not_split(tmp_path: Path) -> None:
    file = save(
        tmp_path, [record("a", split="test_hard"), record("b", split="test"), record("c", split="test")]
    )
    assert "no train tasks; to score a trained model on them: tam eval" in message(file)
    found = read_test_tasks(file)
    assert {split: len(tasks) for split, tasks in found.items()} == {"test_hard": 1, "test": 2}
    save(tmp_path, [record(name) for name in "ab"])
    assert [task.name for task in read_test_tasks(file)["test"]] == ["a", "b"]
    with pytest.raises(SettingError, match=r"^fold must come with splits"):  # the others may be trained on
        read_test_tasks(file, fold="1/3")
    save(tmp_path, [record(name, split="train") for name in "ab"])
    with pytest.raises(UserError, match="there are no test tasks"):
        read_test_tasks(file)


def fixed(kind: str, support: list[Any], query: list[Any]) -> dict[str, Any]:
    parts = {"support": support, "query": query}
    return {"kind": kind} | {name: [{"x": x, "y": y} for x, y in part] for name, part in parts.items()}


def test_a_fixed_support_is_used_as_it_is(tmp_path: Path) -> None:
    pairs = [([number], [number, 1]) for number in range(9)]
    lines = [{"task": name, **fixed("transduction", pairs[:4], pairs[4:])} for name in "abc"]
    tasks = tam.read_tasks(save(tmp_path, lines))
    assert [list(example) for example in tasks.test[0]] == [list(pair) for pair in pairs]
    for k in (2, 4):
        (episode,) = episodes(tasks.test, k, Protocol(shots=(1, 20), supports=3, queries=2))
        assert episode.support.tolist() == list(range(k))
        assert episode.query.tolist() == [4, 5, 6, 7, 8]
    with pytest.raises(UserError, match=r"fixed support of 4 examples: shots must be at most 4: got 5"):
        episodes(tasks.test, 5, Protocol())
    copy = tmp_path / "copy.jsonl"
    tasks.write(copy)
    assert tam.read_tasks(copy).fingerprint == tasks.fingerprint
    assert tam.read_tasks(copy).test[0].support == 4
    free = tam.tasks_from(dict.fromkeys("abc", pairs))
    assert free.fingerprint != tasks.fingerprint


def test_a_fixed_support_with_classes_of_different_sizes(tmp_path: Path) -> None:
    support = [([1], "a"), ([2], "b"), ([3], "a"), ([4], "a")]
    lines = [{"task": name, **fixed("classification", support, [([9], "b"), ([8], "c")])} for name in "abc"]
    task = tam.read_tasks(save(tmp_path, lines)).test[0]
    rows = {k: episodes([task], k, Protocol())[0].support.tolist() for k in (1, 2, 3)}
    assert rows == {1: [0, 1], 2: [0, 1, 2], 3: [0, 1, 2, 3]}
    with pytest.raises(UserError, match="3 examples of a class"):
        episodes([task], 4, Protocol())


def test_fixed_supports_from_memory_and_tables(tmp_path: Path) -> None:
    support, query = [([1, 2], "a"), ([2], "b")], [([3], "a")]
    lines = [{"task": name, **fixed("classification", support, query)} for name in "abc"]
    expected = tam.read_tasks(save(tmp_path, lines)).fingerprint
    parts = {"support": support, "query": query}
    assert tam.tasks_from(dict.fromkeys("abc", parts)).fingerprint == expected
    assert tam.tasks_from(lines).fingerprint == expected
    every = [(name, x, y, role) for name in "abc" for role in parts for x, y in parts[role]]
    rows = [dict(zip(("task", "x", "y", "role"), row, strict=True)) for row in every]
    assert tam.tasks_from(rows).fingerprint == expected
    table = tmp_path / "t.csv"
    cells = [f"{name},{' '.join(map(str, x))},{y},{role}" for name, x, y, role in every]
    table.write_text("\n".join(["task,x,y,role", *cells]))
    assert tam.read_tasks(table).fingerprint == expected
    pd = pytest.importorskip("pandas")
    table.write_text("\n".join(["task,x,y,role", *cells, "free,1,a,", "free,2,b,"]))
    for source in (table, pd.read_csv(table)):
        by_name = {task.name: task for task in tam.tasks_from(source)}
        assert (by_name["free"].support, by_name["a"].support) == (None, 2)
    with pytest.raises(UserError, match=r"^task 'a', query 0: expected a pair"):
        tam.tasks_from({"a": {"support": support, "query": [3]}})
