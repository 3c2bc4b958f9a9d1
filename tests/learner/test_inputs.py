"""What users give: taken as it is meant, or an error that says where and why."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tam.errors import UserError
from tam.learner.inputs import ExamplesError, Intake
from tam.models import ModelSpec
from tam.tasks.task import Classes, Label, Sequences, Task
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


def task(examples: list[tuple[list[Token], Any]], tokens: Vocabulary, name: str = "t", **more: Any) -> Task:
    def sequences(rows: list[list[Token]]) -> Sequences:
        return Sequences.from_lists([tokens.encode(row) for row in rows], len(tokens))

    answers = [y for _, y in examples]
    if isinstance(answers[0], list):
        return Task(name, tokens, sequences([x for x, _ in examples]), sequences(answers), **more)
    labels: tuple[Label, ...] = tuple(sorted(set(answers)))
    y = Classes(np.array([labels.index(answer) for answer in answers]), labels)
    return Task(name, tokens, sequences([x for x, _ in examples]), y, **more)


@pytest.mark.parametrize(
    "row",
    [[1, "a"], (1, "a"), iter([1, "a"]), [np.int64(1), np.str_("a")], [torch.tensor(1), "a"]],
    ids=["list", "tuple", "generator", "numpy", "torch"],
)
def test_sequences_of_any_sort(row: Any) -> None:
    made = CLASSIFIER.task("t", [(row, "yes")], ())
    assert [tuple(example) for example in made] == [([1, "a"], "yes")]


@pytest.mark.parametrize("label", [np.int64(1), np.uint8(1), torch.tensor(1), 1])
def test_labels_of_any_sort(label: Any) -> None:
    made = CLASSIFIER.task("t", ([x, y] for x, y in [(np.array([1, 2]), label), ([], np.str_("no"))]), ())
    assert isinstance(made.y, Classes)
    assert made.y.labels == (1, "no")
    assert [type(label) for label in made.y.labels] == [int, str]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("12", "x: expected a list of tokens, not '12'"),
        (b"12", "x: expected a list of tokens, not b'12'"),
        (3, "x: expected a list of tokens, not 3"),
        (None, "x: expected a list of tokens, not None"),
        ({1: 2}, "x: expected a list of tokens, not {1: 2}"),
        (np.array(3), r"x: expected a list of tokens, not array\(3\)"),
        ([[1]], r"x: expected a token, an integer or a string, not \[1\]"),
        ([{}], "x: expected a token, an integer or a string, not {}"),
        ([1.0], "x: expected a token, an integer or a string, not 1.0"),
        ([True], "x: expected a token, an integer or a string, not True"),
        ([None], "x: expected a token, an integer or a string, not None"),
        ([np.array([[1], [2]])], r"x: expected a token, .*, not array\(\[\[1\], \[2\]\]\)"),
        ([77], "x: unknown token 77: not one of the 5 tokens"),
        ([10**5000], "x: unknown token int with too many digits"),
        (["z" * 999], "x: unknown token 'zzz[z]*…: not one"),
        ([1] * 4, "x: 4 tokens; the model takes up to 3"),
    ],
)
def test_a_wrong_sequence_says_where_and_why(given: Any, message: str) -> None:
    with pytest.raises(ExamplesError, match=f"^task 7, example 1, {message}") as caught:
        CLASSIFIER.task("task 7", [([1], 0), (given, 1)], ())
    assert caught.value.example == 1
    assert str(caught.value).endswith(caught.value.problem)
    with pytest.raises(UserError, match=f"^input 1: {message[3:]}"):
        CLASSIFIER.inputs([[1], given])


@pytest.mark.parametrize(
    ("intake", "examples", "message"),
    [
        (CLASSIFIER, None, "^t: expected pairs of an input and its answer, not None"),
        (CLASSIFIER, 3, "^t: expected pairs"),
        (CLASSIFIER, "ab", "^t: expected pairs"),
        (CLASSIFIER, {"x": [1], "y": 2}, "^t: expected pairs"),
        (CLASSIFIER, [], "^t: .*from one example or more, not from none"),
        (CLASSIFIER, [([1], 0), ([1], 0, 2)], r"^t, example 1: expected a pair .*, not \(\[1\], 0, 2\)"),
        (CLASSIFIER, [{"x": [1], "y": 2}], "^t, example 0: expected a pair"),
        (CLASSIFIER, [([1], 1.5)], "^t, example 0, y: expected a label, an integer or a string, not 1.5"),
        (CLASSIFIER, [([1], True)], "^t, example 0, y: expected a label, .*, not True"),
        (CLASSIFIER, [([1], [1])], r"^t, example 0, y: expected a label, .*, not \[1\]"),
        (CLASSIFIER, [([1], y) for y in range(3)], "^t: 3 different labels, but the model knows 2"),
        (TRANSDUCER, [([1], 1)], "^t, example 0, y: expected a list of tokens, not 1"),
        (TRANSDUCER, [([1], [1, 1, 1])], "^t, example 0, y: 3 tokens; the model takes up to 2"),
        (TRANSDUCER, [([1], ["c"])], "^t, example 0, y: unknown token 'c'"),
    ],
)
def test_wrong_examples_say_where_and_why(intake: Intake, examples: Any, message: str) -> None:
    with pytest.raises(ExamplesError, match=message):
        intake.task("t", examples, ())


@pytest.mark.parametrize("given", [None, 3, "ab", {1: 2}])
def test_inputs_are_a_list(given: Any) -> None:
    with pytest.raises(UserError, match=r"^inputs are a list with a list of tokens for each, not "):
        CLASSIFIER.inputs(given)


@pytest.mark.parametrize(
    ("primitives", "message"),
    [
        ((), "the model needs the task's primitives"),
        (["new"], r"a task has 2 primitives in this model, not 1: \['new'\]"),
        (["new", "add", "sort"], "a task has 2 primitives in this model, not 3"),
        (["add", "sort"], r"exactly one .*, not 0 of \['add', 'sort'\]"),
        (["new", "newer"], r"exactly one .*, not 2 of \['new', 'newer'\]"),
        ("new", "primitives are a list of strings, not 'new'"),
        ([1, "add"], "primitives are a list of strings"),
        (None, "primitives are a list of strings, not None"),
    ],
)
def test_wrong_primitives_say_why(primitives: Any, message: str) -> None:
    assert COMPOSER.task("t", [([1], 0)], iter(["new", "add"])).primitives == ("new", "add")
    with pytest.raises(UserError, match=f"^t: {message}"):
        COMPOSER.task("t", [([1], 0)], primitives)
    if primitives:
        with pytest.raises(UserError, match=r"^t: (the model takes no primitives|primitives are)"):
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


def _set_of(one: Task) -> TaskSet:
    names = ("train", "valid", "test")
    splits = {name: (Task(name, one.vocabulary, one.x, one.y),) for name in names}
    return TaskSet(splits, one.vocabulary)


FINE = task([([1], "yes")], VOCABULARY)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: _set_of(FINE),
            "the tasks of one split, such as tasks.test, not all of a TaskSet of 1 train",
        ),
        (lambda: FINE, "expected a list of one task or more, such as tasks.test, not Task"),
        (list, r"expected a list of one task or more, such as tasks.test, not \[\]"),
        (lambda: None, "expected a list of one task or more"),
        (lambda: "test", "expected a list of one task or more"),
        (lambda: [FINE, "t"], "expected a list of one task or more"),
        (
            lambda: [FINE, task([([1], [1])], VOCABULARY)],
            "task 't' is of kind transduction, and the model is for classification",
        ),
        (
            lambda: [task([([1], y) for y in range(3)], VOCABULARY)],
            "task 't': 3 different labels, but the model knows 2",
        ),
        (
            lambda: [task([([1], 0), ([1] * 4, 0)], VOCABULARY)],
            "task 't', example 1, x: 4 tokens; the model takes up to 3",
        ),
        (
            lambda: [task([([], 0), ([1], 0), ([1, 99], 0)], Vocabulary([99, 1]))],
            "task 't', example 2, x: unknown token 99: not one of the 5 tokens",
        ),
    ],
)
def test_tasks_that_do_not_fit_say_why(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        CLASSIFIER.tasks(make())


def test_answers_of_tasks_that_do_not_fit() -> None:
    for y, message in (([1, 1, 1], "3 tokens; the model takes up to 2"), (["c"], "unknown token 'c'")):
        with pytest.raises(UserError, match=f"^task 't', example 1, y: {message}"):
            TRANSDUCER.tasks([task([([], []), ([], y)], Vocabulary([1, "c"]))])


def test_tasks_of_a_compositional_model_have_one_unknown_primitive() -> None:
    given = task([([1], 0)], VOCABULARY, primitives=("add", "new"))
    assert COMPOSER.tasks([given])[0].primitives == ("add", "new")
    assert CLASSIFIER.tasks([given])[0].primitives == ()
    for names in ((), ("add", "sort"), ("new",)):
        with pytest.raises(UserError, match=r"^task 't': .*primitives"):
            COMPOSER.tasks([task([([1], 0)], VOCABULARY, primitives=names)])
