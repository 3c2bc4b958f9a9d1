import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tam
from tam.errors import UserError
from tam.report.grid import draw_grids, letters
from tam.report.tasks import select, statistics, summary, task_lines
from tam.tasks.taskset import TaskSet

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {"train": 12, "valid": 2, "test": 3, "examples": 8}


@cache
def made(name: Any, **options: Any) -> TaskSet:
    n = {"n": 5} if name == "classification" else {}
    return tam.benchmark(name, **SMALL, **n, **options)


def test_summary() -> None:
    tasks = made("classification")
    what = "classification · 12 train, 2 valid, 3 test tasks · 12 tokens · seed=0 n=5"
    assert summary(tasks) == f"{what} · {tasks.fingerprint[:12]}"
    tasks = made("pathfinding", compositional=True)
    assert summary(tasks).startswith("pathfinding (compositional) · 12 train, ")
    assert " · 200 tokens · seed=0 holdout=0 · " in summary(tasks)


def test_select_test_tasks_first_by_part_of_a_name_or_pattern() -> None:
    tasks = made("transduction")
    chosen = select(tasks, None, 4)
    assert chosen == [*(("test", task) for task in tasks.test), ("valid", tasks.valid[0])]
    name = tasks.train[5].name
    first, second, _ = name.split(" → ")
    everyone = [task.name for task in (*tasks.test, *tasks.valid, *tasks.train)]
    assert [task.name for _, task in select(tasks, first, 99)] == [n for n in everyone if first in n]
    assert name in [task.name for _, task in select(tasks, f"*{second[:-1]}?*", 99)]
    with pytest.raises(UserError, match="'nothing such'"):
        select(tasks, "nothing such", 3)


def test_a_classification_task_in_words() -> None:
    tasks = made("classification")
    task = tasks.test[0]
    head, *lines = task_lines(tasks, "test", task, colour=False).splitlines()
    assert head == f"{task.name}   (test, 580 examples)"
    answers = [line.split("→")[1].strip() for line in lines]
    assert answers[:4] == ["0", "1", "2", "3"]  # one of every class
    assert len(lines) == 5
    written = {f"{' '.join(map(str, x))} → {y}" for x, y in task}
    assert {re.sub(" +", " ", line.strip()) for line in lines} <= written
    assert len({line.index("→") for line in lines}) == 1
    assert "\x1b[1m" in task_lines(tasks, "test", task, colour=True)


def test_a_transduction_task_in_words() -> None:
    tasks = made("transduction", compositional=True)
    task = tasks.test[0]
    head, *lines = task_lines(tasks, "test", task, colour=False).splitlines()
    [unseen] = [name for name in task.primitives if name in tasks.unseen_primitives]
    assert head == f"{task.name}   (test, 520 examples, unseen in training: {unseen})"
    x, y = task[0]
    assert isinstance(y, list)
    assert re.sub(" +", " ", lines[0].strip()) == f"{' '.join(map(str, x))} → {' '.join(map(str, y))}"
    assert "unseen" not in task_lines(tasks, "train", tasks.train[0], colour=False)


@pytest.mark.parametrize("compositional", [False, True])
def test_a_path_is_drawn(compositional: bool) -> None:
    tasks = made("pathfinding", compositional=compositional)
    task = tasks.test[1]
    lines = task_lines(tasks, "test", task, colour=False).splitlines()
    stops = [10 * int(row) + int(column) for row, column in re.findall(r"\((\d),(\d)\)", task.name)]
    assert len(stops) == 2 + compositional
    examples = [task[row] for row in range(3)]
    assert "\n".join(lines[1:11]) == draw_grids([letters(one, stops) for one in examples], colour=False)
    for line, (x, y) in zip(lines[11:], examples, strict=True):
        assert isinstance(y, list)
        assert line == f"  {' '.join(map(str, x))}  →  {' '.join(map(str, y))}"


def test_statistics_of_benchmarks() -> None:
    tasks = made("classification")
    text = statistics(tasks)
    assert text.startswith(summary(tasks))
    assert re.search(r"^train +12 +96 +5 +25\.0% to 25\.0% of 4 classes$", text, re.MULTILINE)
    assert re.search(r"^test +3 +1740 +5 ", text, re.MULTILINE)
    assert text.endswith("uniqueness: 17 of 17 tasks differ from all others on some input")
    for slot in range(3):
        counts = _primitive_counts(text, slot)
        expected = [task.name.split(" → ")[slot] for task in tasks.train]
        for name, (train, _, _) in counts.items():
            assert train == expected.count(name)
    assert sum(train for train, _, _ in _primitive_counts(text, 2).values()) == 12
    paths = statistics(made("pathfinding", compositional=True))
    assert re.search(r"^train +12 +96 +8 +\d+ to \d+, mean \d+\.\d$", paths, re.MULTILINE)
    assert "… and " in paths


def _primitive_counts(text: str, slot: int) -> dict[str, tuple[int, int, int]]:
    """The table of a slot: how many train, valid and test tasks have each primitive."""
    part = text.split(f"slot {slot + 1}: ")[1].split("\n\n")[0]
    rows = re.findall(r"^(.+?) +(\d+) +(\d+) +(\d+)$", part, re.MULTILINE)
    return {name: (int(train), int(valid), int(test)) for name, train, valid, test in rows}


def test_statistics_of_the_users_own_tasks(tmp_path: Path) -> None:
    examples = '[{"x": ["a"], "y": 1}, {"x": ["a"], "y": 1}, {"x": ["a"], "y": 2}, {"x": [], "y": 2}]'
    lines = [f'{{"task": "{name}", "kind": "classification", "examples": {examples}}}' for name in "abc"]
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(lines))
    text = statistics(tam.read_tasks(file))
    assert text.startswith("classification · 1 train, 1 valid, 1 test tasks · 1 token · path=")
    assert re.search(r"^train +1 +4 +0 to 1, mean 0\.8 +50\.0% to 50\.0% of 2 classes$", text, re.MULTILINE)
    assert "slot" not in text
    assert text.endswith("repeated inputs inside a task: 6, with a different answer: 3")
    shown = task_lines(tam.read_tasks(file), "train", tam.read_tasks(file).train[0], colour=False)
    assert re.findall(r"^  (\S+) +→  (\d)$", shown, re.MULTILINE) == [
        ("a", "1"), ("a", "2"), ("a", "1"), ("(empty)", "2")
    ]  # fmt: skip
