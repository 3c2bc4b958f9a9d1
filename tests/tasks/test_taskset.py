from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tam.errors import UserError
from tam.tasks.task import Classes, Label, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Token, Vocabulary

LETTERS = Vocabulary(["a", "b", "c", 4])


def classification(
    name: str,
    x: Sequence[Sequence[Token]] = (["a", "b"], [], ["b"]),
    y: Sequence[Label] = ("no", 1, "no"),
    vocabulary: Vocabulary = LETTERS,
    primitives: tuple[str, ...] = (),
) -> Task:
    labels: tuple[Label, ...] = (1, "no")
    ids = np.array([labels.index(label) for label in y], dtype=np.uint8)
    rows = Sequences.from_lists([vocabulary.encode(row) for row in x], len(vocabulary))
    return Task(name, vocabulary, rows, Classes(ids, labels), primitives)


def transduction(name: str, x: Sequence[Sequence[Token]], y: Sequence[Sequence[Token]]) -> Task:
    rows = [Sequences.from_lists([LETTERS.encode(row) for row in part], len(LETTERS)) for part in (x, y)]
    return Task(name, LETTERS, rows[0], rows[1])


def task_set(*tasks: Task, vocabulary: Vocabulary = LETTERS) -> TaskSet:
    splits = ["train", "valid", "test"] + ["train"] * (len(tasks) - 3)
    return TaskSet(
        {
            name: tuple(task for split, task in zip(splits, tasks, strict=True) if split == name)
            for name in ("train", "valid", "test")
        },
        vocabulary,
    )


def three(**changes: object) -> TaskSet:
    """Three tasks, of which the last is made otherwise."""
    return task_set(classification("A"), classification("B"), classification("C", **changes))  # pyright: ignore[reportArgumentType]


# Tasks


def test_examples_in_the_users_own_words() -> None:
    task = classification("A")
    assert task.kind == "classification"
    assert len(task) == 3
    assert list(task) == [(["a", "b"], "no"), ([], 1), (["b"], "no")]
    task = transduction("B", [["a"], [4, "c"]], [[], ["b", "b", "b"]])
    assert task.kind == "transduction"
    assert [(example.x, example.y) for example in task] == [(["a"], []), ([4, "c"], ["b", "b", "b"])]
    with pytest.raises(ValueError, match="task 'A': 3 inputs but 2 answers"):
        replace(classification("A"), y=Classes(np.array([0, 1]), (1, "no")))


def test_sequences_are_padded_and_compact() -> None:
    rows = Sequences.from_lists([[3, 1], [], [2]], 12)
    assert (rows.ids.tolist(), rows.lengths.tolist()) == ([[3, 1], [0, 0], [2, 0]], [2, 0, 1])
    assert rows.flat.tolist() == [3, 1, 2]
    assert [rows.row(index).tolist() for index in range(len(rows))] == [[3, 1], [], [2]]
    sizes = {256: np.uint8, 257: np.uint16, 70_000: np.uint32}
    assert {size: Sequences.from_lists([[0]], size).ids.dtype for size in sizes} == sizes
    assert Sequences.from_lists([[1] * 300], 2).lengths.dtype == np.uint16
    assert Sequences.from_lists([[], []], 5).ids.shape == (2, 0)


def test_vocabulary() -> None:
    assert (LETTERS.encode([4, "a"]), LETTERS.decode(np.array([3, 0]))) == ([3, 0], [4, "a"])
    assert Vocabulary(["a", "b", "c", 4]) == LETTERS != Vocabulary(["b", "a", "c", 4])
    with pytest.raises(UserError, match="unknown token '4'"):
        LETTERS.encode(["4"])
    with pytest.raises(ValueError, match="must differ"):
        Vocabulary([1, 2, 1])


# Sets


def test_a_set_knows_its_tasks() -> None:
    tasks = task_set(*(classification(name) for name in "ABCD"))
    parts = {
        split: "".join(task.name for task in getattr(tasks, split)) for split in ("train", "valid", "test")
    }
    assert parts == {"train": "AD", "valid": "B", "test": "C"}
    assert ["".join(task.name for task in tasks), len(tasks)] == ["ADBC", 4]
    assert (tasks.kind, tasks.n_classes, tasks.primitives) == ("classification", 2, ())
    assert repr(tasks) == "TaskSet of 2 train, 1 valid, 1 test tasks (classification, 4 tokens)"
    sequences = task_set(*(transduction(name, [["a"]], [["b"]]) for name in "ABC"))
    assert (sequences.kind, sequences.n_classes) == ("transduction", 0)


def test_primitives() -> None:
    parts = [("add 1", "sort"), ("add 2", "sort"), ("add 1", "reverse"), ("add 1", "reverse")]
    named = [classification(name, primitives=names) for name, names in zip("ABCD", parts, strict=True)]
    tasks = task_set(*named)
    assert tasks.primitives == ("add 1", "add 2", "reverse", "sort")
    assert tasks.unseen_primitives == {"add 2"}
    assert tasks.primitive_ids(tasks.valid[0]) == (1, 3)


A, B = classification("A"), classification("B")
BAD_SETS: dict[str, Callable[[], object]] = {
    "splits must be .*valid": lambda: TaskSet({"train": (A,), "valid": (B,)}, LETTERS),
    "splits must be .*dev": lambda: TaskSet({**three().splits, "dev": (classification("D"),)}, LETTERS),
    "'valid' has none": lambda: TaskSet({**three().splits, "valid": ()}, LETTERS),
    "vocabulary": lambda: three(vocabulary=Vocabulary(["b", "a"])),
    "one kind": lambda: task_set(A, B, transduction("C", [["a"]], [["a"]])),
    "'A' occurs 2 times": lambda: task_set(A, B, A),
}


@pytest.mark.parametrize("message", BAD_SETS)
def test_bad_set(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BAD_SETS[message]()


# The fingerprint


def test_the_fingerprint_covers_all_content() -> None:
    changed = [
        three(),
        three(x=(["a", "b"], [], ["a"])),
        three(x=(["b", "a"], [], ["b"])),
        three(x=(["a"], ["b"], ["b"])),  # the same tokens, other lengths
        three(x=(["a", 4], [], ["b"])),
        three(y=("no", "no", "no")),
        three(y=(1, 1, "no")),
        three(primitives=("p",)),
        three(primitives=("p", "q")),
        three(primitives=("q", "p")),
        *(task_set(*map(classification, names)) for names in ("ABD", "BAC", "ACB", "ABCD", "DBCA")),
        task_set(*(transduction(name, [["a"]], [["b", "b"]]) for name in "ABC")),
        task_set(*(transduction(name, [["a", "b"]], [["b"]]) for name in "ABC")),
        task_set(*(transduction(name, [["a"]], [["b"]]) for name in "ABC")),
    ]
    assert len({tasks.fingerprint for tasks in changed}) == len(changed)


def test_a_token_is_not_the_string_of_it() -> None:
    fingerprints = set()
    for tokens in ([1, 2], ["1", 2], ["1", "2"]):
        vocabulary = Vocabulary(tokens)
        tasks = [classification(name, [tokens], [1], vocabulary) for name in "ABC"]
        fingerprints.add(task_set(*tasks, vocabulary=vocabulary).fingerprint)
    assert len(fingerprints) == 3


def test_the_fingerprint_does_not_depend_on_how_content_is_held() -> None:
    wide = Vocabulary([*"zyxcba", *range(300)])
    held_otherwise = []
    for name in "ABC":
        task = classification(name, vocabulary=wide)
        ids = np.pad(task.x.ids, ((0, 0), (0, 3)), constant_values=9).astype(np.int64)
        x = Sequences(
            np.where(np.arange(5) < task.x.lengths[:, None], ids, 9), task.x.lengths.astype(np.int32)
        )
        assert isinstance(task.y, Classes)
        turned = {0: 2, 1: 0}  # other class ids for the same labels, and one that no example has
        y = Classes(np.array([turned[number] for number in task.y.ids.tolist()]), ("no", "never", 1))
        held_otherwise.append(replace(task, x=x, y=y))
    assert task_set(*held_otherwise, vocabulary=wide).fingerprint == three().fingerprint


def test_the_fingerprint_for_ever() -> None:
    """Written down once: published results name the data that they are of by it."""
    assert three().fingerprint[:16] == "861ad7b4d73efcb9"
