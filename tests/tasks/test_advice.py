"""Warnings about task sets: each appears where its trouble is, and not where it is not."""

from collections.abc import Callable
from typing import Any

import pytest

import tam
from tam.tasks.advice import advice

Tasks = dict[str, dict[str, list[Any]]]


def healthy(own_token: bool = True) -> Tasks:
    """Thirty tasks whose only trouble may be that each has a token of its own."""
    names = {"train": range(20), "valid": range(20, 25), "test": range(25, 30)}
    prefix: Callable[[int], list[int]] = lambda n: [n] if own_token else [n // 6, n % 6]  # noqa: E731
    return {
        split: {
            f"{split} {n}": [([*prefix(n), v], "yes" if v > 7 else "no") for v in range(16)] for n in some
        }
        for split, some in names.items()
    }


def one_no(examples: list[Any]) -> list[Any]:
    return [(x, "yes" if place else "no") for place, (x, _) in enumerate(examples)]


TROUBLES: dict[str, tuple[str, Callable[[list[Any]], list[Any]]]] = {
    "only 1 training task: ": ("train", list),
    "only 1 test task: scores": ("test", list),
    "1 of 5 valid tasks have fewer than 10 examples ('valid 20' has 4)": (
        "valid 20",
        lambda some: some[6:10],
    ),
    "1 of 5 test tasks have one label only ('test 25')": (
        "test 25",
        lambda some: [(x, "yes") for x, _ in some],
    ),
    "1 of 5 test tasks have one label for over 90% of their examples ('test 25': 94%)": ("test 25", one_no),
    "1 input of test is longer than any in training: up to 3, against 2": (
        "test 25",
        lambda some: [([1, 1, 1], "no"), *some[1:]],
    ),
    "20.0% of the examples of test are also in training tasks": (
        "test 25",
        lambda _: healthy()["train"]["train 3"],
    ),
    "1 example repeats an earlier input of the same task with another answer": (
        "train 3",
        lambda some: [*some, (some[0][0], "yes")],
    ),
    "16 examples repeat an earlier input of the same task with the same answer: a query": (
        "test 25",
        lambda some: some + some,
    ),
    "a few inputs are far longer than the others: up to 50, while 95 % have at most 2 tokens": (
        "train 3",
        lambda some: [([1] * 50, "no"), *some[1:]],
    ),
}
"""By how a warning begins: the task that is changed, and how; or the split that is cut to one task."""


@pytest.mark.parametrize("warning", TROUBLES)
def test_what_will_hurt_is_said(warning: str) -> None:
    name, change = TROUBLES[warning]
    tasks = healthy()
    before = advice(tam.tasks_from(tasks))
    split = name.split()[0]
    if name == split:
        tasks[split] = dict(list(tasks[split].items())[:1])
    else:
        tasks[split][name] = change(tasks[split][name])
    after = advice(tam.tasks_from(tasks))
    assert not any(line.startswith(warning) for line in before)
    assert any(line.startswith(warning) for line in after), after


def test_tokens_that_training_never_shows_are_counted() -> None:
    assert advice(tam.tasks_from(healthy(own_token=False))) == []
    (valid, test) = (line for line in advice(tam.tasks_from(healthy())) if "not in training" in line)
    assert valid.startswith("5 tokens of valid are not in training (20, …), 50.00% of its tokens")
    assert test.startswith("5 tokens of test are not in training (25, …), 50.00% of its tokens")
