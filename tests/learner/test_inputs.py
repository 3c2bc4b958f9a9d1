"""What users give: taken as it is meant, or an error that says where and why."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tam.errors import UserError
from tam.learner.inputs import ExamplesError, Intake
from tam.models import ModelSpec
from tam.tasks.task import Classes, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Token, Vocabulary

VOCABULARY = Vocabulary([0, 1, 2, "a", "b"])
CLASSIFIER = Intake(
    ModelSpec(kind="classification", vocabulary=5, classes=2, max_x=3, layers=1, width=8), VOCABULARY, None
)
TRANSDUCER = Intake(
    ModelSpec(kind="transduction", vocabulary=5, max_x=3, max_y=2, layers=1, width=8), VOCABULARY, None
)
COMPOSER = Intake(
    ModelSpec(kind="classification", vocabulary=5, classes=2, max_x=3, primitives=3, slots=2, width=8),
    VOCABULARY,
    {"add": 0, "sort": 1, "swap": 2},
)


def task(examples: list[tuple[list[Token], Any]], tokens: Vocabulary, *primitives: str) -> Task:
    """A task in the ids of these tokens."""
    kind = "transduction" if isinstance(examples[0][1], list) else "classification"
    spec = ModelSpec(kind=kind, vocabulary=len(tokens), max_x=9, max_y=9, classes=9, width=8)
    return replace(Intake(spec, tokens, None).task("t", examples, ()), primitives=primitives)


@pytest.mark.parametrize(
    "row",
    [[1, "a"], (1, "a"), iter([1, "a"]), [np.int64(1), np.str_("a")], [torch.tensor(1), "a"]],
    ids=["list", "tuple", "generator", "numpy", "torch"],
)
def test_sequences_of_any_sort(row: Any) -> None:
    made = CLASSIFIER.task("t", [(row, "yes")], ())
    assert [tuple(example) for example in made] == [([1, "a"], "yes")]


@pytest.mark.parametrize("label", [np.int64(1), torch.tensor(1), 1])
def test_labels_of_any_sort(label: Any) -> None:
    made = CLASSIFIER.task("t", ([x, y] for x, y in [(np.array([1, 2]), label), ([], np.str_("no"))]), ())
    assert isinstance(made.y, Classes)
    assert made.y.labels == (1, "no")
    assert [type(label) for label in made.y.labels] == [int, str]


@pytest.mark.parametrize(
    ("given", "about"),
    [
        *((given, "list of tokens") for given in ("12", 3, {1: 2}, np.array(3))),
        *((given, "expected a token") for given in ([[1]], [1.0], [True], [np.array([[1], [2]])])),
        ([77], "unknown token 77"),
        ([10**5000], "unknown token"),
        ([1] * 4, "4 tokens; the model takes up to 3"),
    ],
)
def test_a_wrong_sequence_says_where_and_why(given: Any, about: str) -> None:
    with pytest.raises(ExamplesError, match=f"^task 7, example 1: x: .*{about}") as caught:
        CLASSIFIER.task("task 7", [([1], 0), (given, 1)], ())
    assert caught.value.example == 1
    assert str(caught.value).endswith(caught.value.problem)
    with pytest.raises(UserError, match=f"^input 1: .*{about}"):
        CLASSIFIER.inputs([[1], given])


@pytest.mark.parametrize(
    ("intake", "examples", "about"),
    [
        *((CLASSIFIER, given, "^t: .*pairs") for given in (None, {"x": [1], "y": 2}, [])),
        (CLASSIFIER, [([1], 0), ([1], 0, 2)], "^t, example 1: .*pair"),
        (CLASSIFIER, [([1], 1.5)], "^t, example 0: y: .*label"),
        (CLASSIFIER, [([1], [1])], "^t, example 0: y: .*label"),
        (CLASSIFIER, [([1], y) for y in range(3)], "^t: 3 different labels"),
        (TRANSDUCER, [([1], 1)], "^t, example 0: y: .*list of tokens"),
        (TRANSDUCER, [([1], [1, 1, 1])], "^t, example 0: y: 3 tokens"),
        (TRANSDUCER, [([1], ["c"])], "^t, example 0: y: unknown token 'c'"),
    ],
)
def test_wrong_examples_say_where_and_why(intake: Intake, examples: Any, about: str) -> None:
    with pytest.raises(ExamplesError, match=about):
        intake.task("t", examples, ())


def test_text_is_split_as_in_training() -> None:
    of_words = Vocabulary([1, 2, "a", "b"])
    plain = Intake(CLASSIFIER.spec, of_words, None)
    assert plain.plain("t", [("1 a 2", "a b"), (["a"], 0)]) == [([1, "a", 2], "a b"), (["a"], 0)]
    assert plain.inputs(["2 b"]).tokens == [[2, "b"]]
    integers = Intake(CLASSIFIER.spec, Vocabulary([1, 2]), None)
    assert integers.plain("t", [("1 57 a", 0)]) == [([1, 57, "a"], 0)]
    with pytest.raises(UserError, match=r"^input 1: .* several words, not 'a'"):
        plain.inputs([["a"], "a"])  # perhaps one input, not two
    characters = replace(TRANSDUCER, vocabulary=of_words, text="characters")
    assert characters.plain("t", [("ab", "b")]) == [(["a", "b"], ["b"])]
    with pytest.raises(UserError, match="example 0: y: expected a list of tokens, not True"):
        characters.plain("t", [("ab", True)])


def test_booleans_are_labels() -> None:
    made = CLASSIFIER.task("t", [([1], True), ([2], np.False_)], ())
    assert [example.y for example in made] == ["true", "false"]


@pytest.mark.parametrize("given", [3, "ab", {1: 2}])
def test_inputs_are_a_list(given: Any) -> None:
    with pytest.raises(UserError, match="inputs must be a list"):
        CLASSIFIER.inputs(given)


@pytest.mark.parametrize("primitives", [(), ["new"], ["add", "sort"], ["new", "newer"], "new", [1, "add"]])
def test_wrong_primitives_are_errors(primitives: Any) -> None:
    assert COMPOSER.task("t", [([1], 0)], iter(["new", "add"])).primitives == ("new", "add")
    with pytest.raises(UserError, match=r"^t: .*primitives"):
        COMPOSER.task("t", [([1], 0)], primitives)
    if primitives:
        with pytest.raises(UserError, match=r"^t: .*primitives"):
            CLASSIFIER.task("t", [([1], 0)], primitives)


@pytest.mark.parametrize("intake", [CLASSIFIER, TRANSDUCER])
def test_tasks_of_another_vocabulary_keep_their_tokens(intake: Intake) -> None:
    other = Vocabulary(["b", 99, 2, "a", "unused"])
    answers: list[Any] = ["no", "yes"] if intake is CLASSIFIER else [["a"], ["b", 2]]
    given = task(list(zip([["b", 2, "a"], []], answers, strict=True)), other)
    (own,) = intake.tasks(each for each in [given])
    assert own.vocabulary is VOCABULARY
    assert list(own) == list(given)
    assert own.x.ids.tolist() == [[4, 2, 3], [0, 0, 0]]


FINE = task([([1], "yes")], VOCABULARY)
ALL = TaskSet({name: (replace(FINE, name=name),) for name in ("train", "valid", "test")}, VOCABULARY)


@pytest.mark.parametrize(
    ("make", "about"),
    [
        (lambda: ALL, "one split"),
        *((given, "list of one task or more") for given in (lambda: FINE, list, lambda: [FINE, "t"])),
        (lambda: [FINE, task([([1], [1])], VOCABULARY)], "task 't' is of kind transduction"),
        (lambda: [task([([1], y) for y in range(3)], VOCABULARY)], "task 't': 3 different labels"),
        (lambda: [task([([1], 0), ([1] * 4, 0)], VOCABULARY)], "task 't', example 1: x: 4 tokens"),
        (
            lambda: [task([([], 0), ([1], 0), ([1, 99], 0)], Vocabulary([99, 1]))],
            "task 't', example 2: x: unknown token 99",
        ),
    ],
)
def test_tasks_that_do_not_fit_say_why(make: Callable[[], Any], about: str) -> None:
    with pytest.raises(UserError, match=about):
        CLASSIFIER.tasks(make())


def test_tasks_of_a_compositional_model_have_one_unknown_primitive() -> None:
    given = task([([1], 0)], VOCABULARY, "add", "new")
    assert COMPOSER.tasks([given])[0].primitives == ("add", "new")
    assert CLASSIFIER.tasks([given])[0].primitives == ()
    for names in ((), ("add", "sort"), ("new",)):
        with pytest.raises(UserError, match=r"^task 't': .*primitives"):
            COMPOSER.tasks([task([([1], 0)], VOCABULARY, *names)])
