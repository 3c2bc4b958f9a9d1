"""Warnings about task sets: each appears where its trouble is, and not where it is not."""

from typing import Any

import pytest

import tam
from tam.tasks.advice import advice


def healthy() -> dict[str, dict[str, list[Any]]]:
    """Thirty tasks whose only trouble is that each has a token of its own."""
    names = {"train": range(20), "valid": range(20, 25), "test": range(25, 30)}
    return {
        split: {
            f"{split} {n}": [([n, value], "yes" if value > 7 else "no") for value in range(16)] for n in some
        }
        for split, some in names.items()
    }


def test_nothing_stands_out_of_a_good_set() -> None:
    names = {"train": range(20), "valid": range(20, 25), "test": range(25, 30)}
    tasks = {
        split: {
            f"{n}": [([n // 6, n % 6, value], "yes" if value > 7 else "no") for value in range(16)]
            for n in some
        }
        for split, some in names.items()
    }
    assert advice(tam.tasks_from(tasks)) == []


def trouble(change: str) -> dict[str, dict[str, list[Any]]]:
    tasks = healthy()
    if change == "few tasks":
        tasks["train"] = {"one": tasks["train"]["train 0"]}
    elif change == "few test tasks":
        tasks["test"] = {"one": tasks["test"]["test 25"]}
    elif change == "few examples":
        tasks["valid"]["valid 20"] = tasks["valid"]["valid 20"][6:10]
    elif change == "one label":
        tasks["test"]["test 25"] = [(x, "yes") for x, _ in tasks["test"]["test 25"]]
    elif change == "imbalance":
        some = tasks["test"]["test 25"]
        tasks["test"]["test 25"] = [(x, "yes" if place else "no") for place, (x, _) in enumerate(some)]
    elif change == "longer":
        tasks["test"]["test 25"][0] = ([1, 1, 1], "no")
    elif change == "repeated":
        tasks["test"]["test 25"] = list(tasks["train"]["train 3"])
    elif change == "conflict":
        tasks["train"]["train 3"].append((tasks["train"]["train 3"][0][0], "yes"))
    elif change == "padding":
        tasks["train"]["train 3"][0] = ([1] * 50, "no")
    return tasks


WARNINGS = {
    "few tasks": "only 1 training tasks",
    "few test tasks": "only 1 test tasks: their scores",
    "few examples": "1 of 5 valid tasks have fewer than 10 examples ('valid 20' has 4)",
    "one label": "1 of 5 test tasks have one label only ('test 25')",
    "imbalance": "1 of 5 test tasks have one label for over 90% of their examples ('test 25': 94%)",
    "longer": "1 inputs of test are longer than any in training: up to 3, against 2",
    "repeated": "20.0% of the examples of test are also in training tasks",
    "conflict": "1 examples have an input that occurs before in their task with another answer",
    "padding": "a few inputs are far longer than the others: up to 50, while 95 % have at most 2 tokens",
}


@pytest.mark.parametrize("change", WARNINGS)
def test_what_will_hurt_is_said(change: str) -> None:
    before = advice(tam.tasks_from(healthy()))
    after = advice(tam.tasks_from(trouble(change)))
    assert not any(line.startswith(WARNINGS[change]) for line in before)
    assert any(line.startswith(WARNINGS[change]) for line in after), after


def test_tokens_that_training_never_shows_are_counted() -> None:
    (valid, test) = (line for line in advice(tam.tasks_from(healthy())) if "not in training" in line)
    assert valid.startswith("5 tokens of valid are not in training (20, …), 50.00% of its tokens")
    assert test.startswith("5 tokens of test are not in training (25, …), 50.00% of its tokens")
