"""Which tasks are for training, validation and test: drawn by a seed, or as a file says."""

from collections.abc import Collection
from typing import Any

from tam.errors import shown
from tam.tasks.jsonl_schema import FormatError, check_split
from tam.tasks.rng import Rng


def draw_splits(names: Collection[str], seed: int) -> dict[str, str]:
    """Assign 80 % of the tasks to train and 10 % each to valid and test, whatever their order.

    >>> draw_splits(["a", "b", "c"], seed=0)
    {'b': 'train', 'a': 'valid', 'c': 'test'}
    """
    if len(names) < 3:
        raise FormatError(f"there must be at least 3 tasks, for train, valid and test: got {len(names)}")
    ordered = sorted(names)
    drawn = [ordered[index] for index in Rng("split", seed).permutation(len(ordered)).tolist()]
    held_out = max(1, (len(drawn) + 5) // 10)
    test, valid, train = drawn[:held_out], drawn[held_out : 2 * held_out], drawn[2 * held_out :]
    return dict.fromkeys(train, "train") | dict.fromkeys(valid, "valid") | dict.fromkeys(test, "test")


def assign_splits(content: Any, names: Collection[str]) -> dict[str, str]:
    """Assign the tasks as the content of a splits file says.

    >>> assign_splits({"train": ["b"], "valid": ["a"], "test": ["c"]}, ["a", "b", "c"])
    {'b': 'train', 'a': 'valid', 'c': 'test'}
    """
    if not isinstance(content, dict):
        raise FormatError('splits must be an object {"train": [names], "valid": [names], "test": [names]}')
    assignment: dict[str, str] = {}
    for split, members in content.items():
        check_split(split)
        if not isinstance(members, list) or not all(isinstance(name, str) for name in members):
            raise FormatError(f"split {shown(split)} must be a list of names of tasks")
        for name in members:
            if name in assignment:
                raise FormatError(f"every task must be in one split: {shown(name)} is in several")
            assignment[name] = split
    if unknown := assignment.keys() - set(names):
        raise FormatError(f"there is no task {shown(min(unknown))}")
    if missing := [name for name in names if name not in assignment]:
        raise FormatError(f"every task must be in a split: {shown(missing[0])} is in none")
    check_complete(assignment.values())
    return assignment


def check_complete(splits: Collection[str]) -> None:
    """Raise unless there are train, valid and test splits among these names."""
    for needed in ("train", "valid", "test"):
        if not any(split.startswith(needed) for split in splits):
            raise FormatError(f"there must be train, valid and test tasks: there are no {needed} tasks")
