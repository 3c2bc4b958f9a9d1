"""One primitive of a new task is unknown to the model; wherever that is checked, the message is the same."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tam.config.sections import Protocol
from tam.errors import UserError
from tam.evaluation.protocol import Choice, score
from tam.learner.inputs import Intake
from tam.methods import TAM
from tam.models import ModelSpec, build_model
from tam.models.batch import collate
from tam.tasks.composition import PrimitivesError, unknown_slot
from tam.tasks.task import Classes, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Vocabulary
from tam.training.preflight import check_primitives

KNOWN = {"add": 0, "sort": 1}
LETTERS = Vocabulary("ab")
SPEC = ModelSpec(
    kind="classification", vocabulary=2, classes=2, max_x=1, primitives=2, slots=2, layers=1, width=8, heads=2
)


def task(name: str, *primitives: str) -> Task:
    x = Sequences.from_lists([[0], [1]] * 4, 2)
    return Task(name, LETTERS, x, Classes(np.array([0, 1] * 4), ("no", "yes")), primitives)


def before_a_run(wrong: Task) -> None:
    splits = {"train": (task("a", "add", "sort"),), "valid": (task("b", "add", "new"),), "test": (wrong,)}
    check_primitives(TaskSet(splits, LETTERS, {"path": "own.jsonl"}), KNOWN)


def to_a_learner(wrong: Task) -> None:
    Intake(SPEC, LETTERS, KNOWN).tasks([wrong])


def in_a_batch(wrong: Task) -> None:
    collate([task("fine", "new", "add"), wrong], [np.arange(1)] * 2, KNOWN)


def when_scoring(wrong: Task) -> None:
    model = build_model(SPEC, torch.Generator().manual_seed(0))
    protocol = Protocol(shots=(1,), supports=1, queries=2)
    score(TAM(), model, [task("fine", "new", "add"), wrong], 1, Choice(1, 0.1), protocol, KNOWN)


@pytest.mark.parametrize("check", [before_a_run, to_a_learner, in_a_batch, when_scoring])
@pytest.mark.parametrize("primitives", [("add", "sort"), ("new", "newer"), ("new", "new")])
def test_every_check_has_the_same_message(check: Callable[[Task], None], primitives: tuple[str, ...]) -> None:
    check(task("right", "sort", "new"))
    with pytest.raises(PrimitivesError) as expected:
        unknown_slot("", primitives, KNOWN)
    with pytest.raises(UserError, match="task 'wrong'") as caught:
        check(task("wrong", *primitives))
    assert expected.value.problem in str(caught.value)
    assert check != before_a_run or str(caught.value).startswith("own.jsonl: ")
