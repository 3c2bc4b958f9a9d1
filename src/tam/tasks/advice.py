"""Warnings about a task set: properties that will hurt learning or scores."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tam.errors import counted
from tam.tasks.task import Classes, Task, used_tokens
from tam.tasks.taskset import TaskSet

_FEW_TASKS, _FEW_EXAMPLES = 20, 10
_IMBALANCE = 0.9
_LENGTHS_APART = 4


def advice(tasks: TaskSet) -> list[str]:
    """Warnings about a task set, each one line; none if nothing stands out."""
    of_training = (_unseen_tokens, _longer, _repeated, _padding) if tasks.train else ()
    checks = (_few_tasks, _few_examples, _classes, *of_training, _repeats)
    return [line for check in checks for line in check(tasks)]


def _few_tasks(tasks: TaskSet) -> Iterator[str]:
    if 0 < len(tasks.train) < _FEW_TASKS:
        yield (
            f"only {counted(len(tasks.train), 'training task')}: learning across tasks needs many; "
            "methods that train nothing, such as nearest, may do as well"
        )
    for split, members in _held_out(tasks):
        if len(members) < 5:
            yield f"only {counted(len(members), f'{split} task')}: scores have a wide error bar"


def _few_examples(tasks: TaskSet) -> Iterator[str]:
    for split, members in tasks.splits.items():
        if few := [task for task in members if len(task) < _FEW_EXAMPLES]:
            least = min(few, key=len)
            yield (
                f"{len(few)} of {len(members)} {split} tasks have fewer than {_FEW_EXAMPLES} examples "
                f"({least.name!r} has {len(least)}): shots must leave a query"
            )


def _classes(tasks: TaskSet) -> Iterator[str]:
    for split, members in tasks.splits.items():
        classes = [(task, task.y) for task in members if isinstance(task.y, Classes)]
        if single := [task for task, y in classes if len(y.labels) == 1]:
            yield (
                f"{len(single)} of {len(members)} {split} tasks have one label only ({single[0].name!r}): "
                "every answer to them is right"
            )
        shares = [(task, np.bincount(y.ids).max() / len(y)) for task, y in classes if len(y.labels) > 1]
        if uneven := [(task, share) for task, share in shares if share > _IMBALANCE]:
            task, share = max(uneven, key=lambda one: one[1])
            yield (
                f"{len(uneven)} of {len(members)} {split} tasks have one label for over {_IMBALANCE:.0%} of "
                f"their examples ({task.name!r}: {share:.0%}): always answering it looks good"
            )


def _unseen_tokens(tasks: TaskSet) -> Iterator[str]:
    seen = used_tokens(tasks.train, tasks.vocabulary)
    for split, members in _held_out(tasks):
        flat = np.concatenate([part.flat for task in members for part in task.sequences])
        unseen = flat[~seen[flat]]
        if len(unseen):
            ids, counts = np.unique(unseen, return_counts=True)
            example = tasks.vocabulary.tokens[int(ids[counts.argmax()])]
            which = counted(len(ids), f"token of {split} is", f"tokens of {split} are")
            share = f"{len(unseen) / len(flat):.2%} of its tokens"
            yield f"{which} not in training ({example!r}, …), {share}"


def _longer(tasks: TaskSet) -> Iterator[str]:
    for place, what in enumerate(("input", "answer")[: len(tasks.train[0].sequences)]):
        longest = max(int(task.sequences[place].lengths.max()) for task in tasks.train)
        for split, members in _held_out(tasks):
            lengths = np.concatenate([task.sequences[place].lengths for task in members])
            if count := int((lengths > longest).sum()):
                which = counted(count, f"{what} of {split} is", f"{what}s of {split} are")
                yield f"{which} longer than any in training: up to {lengths.max()}, against {longest}"


def _repeated(tasks: TaskSet) -> Iterator[str]:
    """Examples (input and answer) that training tasks have too."""
    if "name" in tasks.options:
        return  # generated tasks share examples by nature
    seen = {example for task in tasks.train for example in _examples(task)}
    for split, members in _held_out(tasks):
        own = [example for task in members for example in _examples(task)]
        if (shared := sum(example in seen for example in own)) > len(own) // 100:
            share = f"{shared / len(own):.1%} of the examples of {split}"
            yield f"{share} are also in training tasks, with the same answer"


def repeats(tasks: TaskSet) -> tuple[int, int]:
    """How many examples repeat an earlier input of their task, and how many of those have another answer."""
    repeated = conflicts = 0
    for task in tasks:
        answers: dict[object, object] = {}
        for x, y in _examples(task):
            repeated += x in answers
            conflicts += answers.setdefault(x, y) != y
    return repeated, conflicts


def _repeats(tasks: TaskSet) -> Iterator[str]:
    repeated, conflicts = repeats(tasks)
    if conflicts:
        which = counted(conflicts, "example repeats", "examples repeat")
        yield f"{which} an earlier input of the same task with another answer"
    if (same := repeated - conflicts) > sum(map(len, tasks)) // 100:
        which = counted(same, "example repeats", "examples repeat")
        yield (
            f"{which} an earlier input of the same task with the same answer: a query that is also in the "
            "support makes scores look better than they are"
        )


def _padding(tasks: TaskSet) -> Iterator[str]:
    lengths = np.concatenate([task.x.lengths for task in tasks.train])
    usual, longest = int(np.percentile(lengths, 95)), int(lengths.max())
    if longest > _LENGTHS_APART * max(usual, 8):
        lengths_of_most = f"up to {longest}, while 95 % have at most {usual} tokens"
        yield f"a few inputs are far longer than the others: {lengths_of_most}"


def _held_out(tasks: TaskSet) -> list[tuple[str, Sequence[Task]]]:
    return [(split, members) for split, members in tasks.splits.items() if split != "train"]


def _examples(task: Task) -> Iterable[tuple[object, object]]:
    """Inputs and answers in a form that is comparable between tasks."""
    if not isinstance(task.y, Classes):
        return task.pairs()
    return zip(task.x.tuples(), (task.y.labels[number] for number in task.y.ids), strict=True)
