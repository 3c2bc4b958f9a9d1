"""From tasks to tensors: the values, the padding, what is there, and which primitive is unknown."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import pytest
from torch import Tensor

from tam.models.batch import collate, collate_inputs
from tam.tasks.task import Classes, Integers, Sequences, Task
from tam.tasks.vocabulary import Vocabulary
from tests.methods.small import some

LETTERS = Vocabulary("abcdef")


def rows(*numbers: int) -> Integers:
    return np.array(numbers, dtype=np.int64)


def classifying(
    name: str, x: Sequence[Sequence[int]], y: Sequence[int], labels: int, primitives: tuple[str, ...] = ()
) -> Task:
    answers = Classes(np.array(y, dtype=np.uint8), tuple(range(labels)))
    return Task(name, LETTERS, Sequences.from_lists(x, 6), answers, primitives)


def transducing(name: str, x: Sequence[Sequence[int]], y: Sequence[Sequence[int]]) -> Task:
    return Task(name, LETTERS, Sequences.from_lists(x, 6), Sequences.from_lists(y, 6))


SHORT = classifying("short", [[1], [2, 3], []], [0, 1, 0], 2)
LONG = classifying("long", [[5, 4, 3, 2], [1, 0], [0, 0, 0], [4]], [2, 1, 0, 2], 3)


def test_classes() -> None:
    batch = collate([LONG, SHORT], [rows(3, 0), rows(1, 2)])
    assert batch.x.tolist() == [[[4, 0, 0, 0], [5, 4, 3, 2]], [[2, 3, 0, 0], [0, 0, 0, 0]]]
    assert batch.x_length.tolist() == [[1, 4], [2, 0]]
    assert batch.y.tolist() == [[2, 2], [1, 0]]
    assert some(batch.classes).tolist() == [3, 2]
    assert batch.y_length is batch.present is batch.primitives is batch.unknown is None


def test_where_numbers_of_rows_differ_present_tells() -> None:
    batch = collate([SHORT, LONG, SHORT], [rows(1), rows(2, 1, 0), rows()])
    assert some(batch.present).tolist() == [[True, False, False], [True] * 3, [False] * 3]
    assert batch.x_length.tolist() == [[2, 0, 0], [3, 2, 4], [0, 0, 0]]
    assert batch.y.tolist() == [[1, 0, 0], [0, 1, 2], [0, 0, 0]]


def test_sequences() -> None:
    first = transducing("first", [[1, 2], [3]], [[4, 4, 5], []])
    second = transducing("second", [[0]], [[2]])
    batch = collate([first, second, first], [rows(1, 0), rows(0), rows(0)])
    assert batch.classes is None
    assert batch.x.tolist() == [[[3, 0], [1, 2]], [[0, 0], [0, 0]], [[1, 2], [0, 0]]]
    assert batch.y.tolist() == [[[0, 0, 0], [4, 4, 5]], [[2, 0, 0], [0, 0, 0]], [[4, 4, 5], [0, 0, 0]]]
    assert some(batch.y_length).tolist() == [[0, 3], [1, 0], [3, 0]]
    assert some(batch.present).tolist() == [[True, True], [True, False], [True, False]]


def test_the_primitive_without_an_id_is_the_unknown_slot() -> None:
    ids = {"p": 0, "q": 1, "r": 2}
    tasks = [
        classifying(name, [[1]], [0], 2, primitives)
        for name, primitives in (("a", ("p", "new", "r")), ("b", ("newer", "q", "p")))
    ]
    batch = collate(tasks, [rows(0), rows(0)], ids)
    primitives = some(batch.primitives)
    assert some(batch.unknown).tolist() == [1, 0]
    assert primitives[0, [0, 2]].tolist() == [0, 2]
    assert primitives[1, [1, 2]].tolist() == [1, 0]
    assert primitives.min() >= 0


def test_without_an_unknown_primitive_there_is_no_unknown_slot() -> None:
    task = classifying("a", [[1]], [0], 2, ("p", "q"))
    batch = collate([task], [rows(0)], {"p": 3, "q": 1})
    assert some(batch.primitives).tolist() == [[3, 1]]
    assert batch.unknown is None
    assert collate([task], [rows(0)]).primitives is None  # a model that does not use them


@pytest.mark.parametrize("x", [[[1], [2, 3], []], [[1, 2], [3, 4], [5, 5]], [[], [], []]])
@pytest.mark.parametrize("known", [None, {"p": 0, "q": 1}, {"p": 0}])
@pytest.mark.parametrize("classes", [[2, 3, 1], None])
def test_inputs_are_collated_as_tasks_of_one_row(
    x: list[list[int]], known: dict[str, int] | None, classes: list[int] | None
) -> None:
    inputs, composed = Sequences.from_lists(x, 6), [("p", "q"), ("q", "p"), ("p", "q")]
    answers = [
        Sequences.from_lists([[]], 6) if classes is None else Classes(rows(0), tuple(range(classes[place])))
        for place in range(3)
    ]
    tasks = [
        Task(
            "", LETTERS, Sequences(inputs.ids[i : i + 1], inputs.lengths[i : i + 1]), answers[i], composed[i]
        )
        for i in range(3)
    ]
    expected = collate(tasks, [rows(0)] * 3, known)
    found = collate_inputs(inputs, classes, composed, known)
    for field in fields(expected):
        a, b = getattr(expected, field.name), getattr(found, field.name)
        if isinstance(a, Tensor):
            assert (a.dtype, a.shape, a.tolist()) == (b.dtype, b.shape, b.tolist())
        else:
            assert a == b
