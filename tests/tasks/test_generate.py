"""Generated task sets, and how they are a prior."""

from pathlib import Path
from typing import Any

import pytest

import tam
from tam.errors import UserError
from tam.tasks.prior import fitting_options

FINGERPRINT = "bb63338089c4192c229a5d685a6d1f49336962c213b01b9cfcf1f4d8c8dd0932"


def test_the_same_options_give_the_same_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the cache, and whatever a set is written to."""
    monkeypatch.setenv("TAM_CACHE", str(tmp_path))
    made = tam.generate(tasks=40)
    assert repr(made) == "TaskSet of 32 train, 4 valid, 4 test tasks (transduction, 100 tokens)"
    assert made.fingerprint == FINGERPRINT
    assert len(list(tmp_path.iterdir())) == 1
    again = tam.generate("lists", tasks=40)
    assert (again.fingerprint, again.options) == (made.fingerprint, made.options)
    made.write(tmp_path / "lists.jsonl")
    assert tam.read_tasks(tmp_path / "lists.jsonl").fingerprint == made.fingerprint
    assert tam.generate(tasks=40, seed=1, use_cache=False).fingerprint != made.fingerprint


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": 0}, "tasks must be an integer from 3 to 1000000: got 0"),
        ({"values": 2.5}, "values must be an integer from 2 to 10000: got 2.5"),
        ({"shortest": 5, "longest": 4}, "shortest must be at most longest: got shortest=5, longest=4"),
        ({"generator": "trees"}, "there is no generator 'trees': it must be lists"),
        ({"length": 4}, "unknown option 'length': generated tasks have generator, tasks, examples"),
        (
            {"values": 2, "longest": 2, "longest_answer": 1, "examples": 4, "use_cache": False},
            r"tasks must be about \d+ or fewer with these values, lengths and examples: got 2000",
        ),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        tam.generate(**options)


def own_tasks(tokens: list[Any], **by_name: str) -> tam.TaskSet:
    """Tasks that drop the first token, by default one in each split."""
    splits = by_name or {"first": "train", "second": "valid", "third": "test"}
    examples = [([tokens[0], *tokens[: 1 + number]], tokens[: 1 + number]) for number in range(len(tokens))]
    by_split: dict[str, Any] = {}
    for name, split in splits.items():
        by_split.setdefault(split, {})[name] = examples
    return tam.tasks_from(by_split)


def test_a_prior_is_more_training_tasks() -> None:
    own = own_tasks([7, 500, 3])
    prior = tam.generate(tasks=30, use_cache=False)
    both = tam.with_prior(own, prior)
    assert [len(both.splits[split]) for split in ("train", "valid", "test")] == [31, 1, 1]
    assert both.vocabulary.tokens == (*range(100), 500)
    assert [list(task) for task in (*both.train[:1], *both.valid, *both.test)] == [list(task) for task in own]
    assert {task.name: list(task) for task in both.train[1:]} == {task.name: list(task) for task in prior}
    assert both.fingerprint != own.fingerprint
    assert both.options["prior"] == prior.options


def test_a_task_of_the_user_is_never_trained_on_by_its_name() -> None:
    """Where the file of tasks is a generated one, its test tasks do not come back as a prior."""
    prior = tam.generate(tasks=30, use_cache=False)
    both = tam.with_prior(prior, prior)
    assert both.fingerprint == prior.fingerprint


def test_a_prior_of_another_kind_is_an_error() -> None:
    labels = tam.tasks_from({name: [([1], "a"), ([2], "b")] for name in "abc"})
    with pytest.raises(
        UserError, match="of the same kind as the tasks: it is transduction, not classification"
    ):
        tam.with_prior(labels, tam.generate(tasks=10, use_cache=False))


def test_options_follow_the_tasks() -> None:
    own = own_tasks([7, 41, 3])
    options = fitting_options(own, {"tasks": 50, "generator": "lists"})
    found = (options.values, options.shortest, options.longest, options.longest_answer, options.examples)
    assert (*found, options.tasks) == (42, 2, 4, 3, 16, 50)
    assert fitting_options(own_tasks([0]), {}).values == 2
    long = tam.tasks_from({name: [([1] * 2_000, [1] * 1_500)] for name in "abc"})
    options = fitting_options(long, {})
    assert (options.shortest, options.longest, options.longest_answer) == (1_000, 1_000, 1_000)


@pytest.mark.parametrize(("tokens", "found"), [(["a", "b"], "the token 'a'"), ([5, -1], "the token -1")])
def test_a_prior_of_lists_needs_numbers(tokens: list[Any], found: str) -> None:
    with pytest.raises(UserError, match=f"tokens that are integers from 0 on: got {found}"):
        fitting_options(own_tasks(tokens), {})
