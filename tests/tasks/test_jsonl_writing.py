"""What is written reads back the same, and is written whole or not at all."""

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tam.errors import UserError
from tam.tasks import taskset
from tam.tasks.jsonl import read_tasks
from tam.tasks.task import Classes, Label, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Token, Vocabulary, sort_key


def build(
    name: str,
    kind: str,
    examples: Sequence[tuple[list[Token], Any]],
    vocabulary: Vocabulary,
    primitives: Sequence[str] = (),
) -> Task:
    def sequences(rows: Iterable[Iterable[Token]]) -> Sequences:
        return Sequences.from_lists([vocabulary.encode(row) for row in rows], len(vocabulary))

    x, answers = sequences(x for x, _ in examples), [y for _, y in examples]
    if kind == "transduction":
        return Task(name, vocabulary, x, sequences(answers), tuple(primitives))
    labels: tuple[Label, ...] = tuple(sorted(set(answers), key=sort_key))
    y = Classes(np.array([labels.index(answer) for answer in answers]), labels)
    return Task(name, vocabulary, x, y, tuple(primitives))


TOKENS = st.integers() | st.text(max_size=3)


@st.composite
def task_sets(draw: Callable[[st.SearchStrategy[Any]], Any]) -> TaskSet:
    kind = draw(st.sampled_from(["classification", "transduction"]))
    # In any order, and perhaps with tokens that no example has.
    vocabulary = Vocabulary(draw(st.lists(TOKENS, min_size=1, max_size=8, unique=True)))
    rows = st.lists(st.sampled_from(vocabulary.tokens), max_size=4)
    examples = st.lists(st.tuples(rows, rows if kind == "transduction" else TOKENS), min_size=1, max_size=4)
    primitives = st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=3)
    with_primitives = draw(st.booleans())
    tests = draw(st.lists(st.text(max_size=2), min_size=1, max_size=3, unique=True))
    members = ["train", "valid", *(f"test{name}" for name in tests)]
    members += draw(st.lists(st.sampled_from(members), max_size=4))
    labels = draw(
        st.lists(st.text(min_size=1, max_size=4), min_size=len(members), max_size=len(members), unique=True)
    )
    by_split: dict[str, list[Task]] = {}
    for name, split in zip(labels, members, strict=True):
        task = build(name, kind, draw(examples), vocabulary, draw(primitives) if with_primitives else ())
        by_split.setdefault(split, []).append(task)
    return TaskSet({split: tuple(tasks) for split, tasks in by_split.items()}, vocabulary)


@pytest.mark.slow
@settings(deadline=None)
@given(task_sets())
def test_round_trip(tasks: TaskSet) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tasks.jsonl"
        tasks.write(file)
        again = read_tasks(file)
        assert os.listdir(folder) == ["tasks.jsonl"]
        assert again.fingerprint == tasks.fingerprint
        assert list(again.splits) == list(tasks.splits)
        assert [list(task) for task in again] == [list(task) for task in tasks]
        first = file.read_bytes()
        again.write(file)
        assert file.read_bytes() == first


VOCABULARY = Vocabulary(["é", 7])


def small_set(**changes: Any) -> TaskSet:
    made = {name: build(name, "classification", [(["é", 7], "ü"), ([], 1)], VOCABULARY) for name in "abc"}
    by_split = {"train": (made["a"],), "valid": (made["b"],), "test": (made["c"],)}
    return TaskSet({**by_split, **changes}, VOCABULARY)


def test_written_text(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    small_set().write(file)
    first, _, _ = file.read_text(encoding="utf-8").splitlines()
    examples = '[{"x":["é",7],"y":"ü"},{"x":[],"y":1}]'
    assert first == f'{{"task":"a","kind":"classification","split":"train","examples":{examples}}}'


UNWRITABLE: dict[str, Task] = {
    "'c' has 0 examples": build("c", "classification", [], VOCABULARY),
    "must have a name": build("", "classification", [([], 1)], VOCABULARY),
    "primitives": build("c", "classification", [([], 1)], VOCABULARY, ["p"]),
    "lone surrogate": build("\ud800", "classification", [([], 1)], VOCABULARY),
    "'c' takes more than .* 500": build("c", "classification", [(["é"] * 100, 1)], VOCABULARY),
}


@pytest.mark.parametrize("expected", UNWRITABLE)
def test_what_could_not_be_read_back_is_not_written(
    expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text("old")
    monkeypatch.setattr(taskset, "LINE_LIMIT", 500)
    with pytest.raises(UserError, match=f"^{re.escape(str(file))}: .*{expected}"):
        small_set(test=(UNWRITABLE[expected],)).write(file)
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["tasks.jsonl"]


@pytest.mark.parametrize("name", ["mine.csv", "mine.TSV", "mine.parquet"])
def test_a_table_is_not_replaced_by_jsonl(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text("old")
    with pytest.raises(UserError, match="will be JSONL: its name must not end in"):
        small_set().write(file)
    assert file.read_text() == "old"
