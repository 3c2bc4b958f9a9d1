"""Assign tasks to training, validation and test: at random, by folds, or as a file specifies."""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from tam.errors import SettingError, shown
from tam.tasks.jsonl_schema import FormatError, check_split
from tam.tasks.rng import Rng


def draw_splits(names: Collection[str], seed: int) -> dict[str, str]:
    """Assign 80 % of the tasks to train and 10 % each to valid and test, whatever their order.

    >>> draw_splits(["a", "b", "c"], seed=0)
    {'b': 'train', 'a': 'valid', 'c': 'test'}
    """
    if len(names) < 3:
        raise FormatError(f"there must be at least 3 tasks, for train, valid and test: got {len(names)}")
    drawn = _shuffled(names, Rng("split", seed))
    held_out = max(1, (len(drawn) + 5) // 10)
    test, valid, train = drawn[:held_out], drawn[held_out : 2 * held_out], drawn[2 * held_out :]
    return dict.fromkeys(train, "train") | dict.fromkeys(valid, "valid") | dict.fromkeys(test, "test")


def _shuffled(names: Iterable[str], rng: Rng) -> list[str]:
    ordered = sorted(names)
    return [ordered[index] for index in rng.permutation(len(ordered)).tolist()]


def assign_splits(content: Any, names: Collection[str]) -> dict[str, str]:
    """Assign the tasks according to the content of a splits file.

    >>> assign_splits({"train": ["b"], "valid": ["a"], "test": ["c"]}, ["a", "b", "c"])
    {'b': 'train', 'a': 'valid', 'c': 'test'}
    """
    if not isinstance(content, dict):
        raise FormatError('splits must be an object {"train": [names], "valid": [names], "test": [names]}')
    for split in content:
        check_split(split)
    return _assign(content.items(), names)


def _assign(parts: Iterable[tuple[str, Any]], names: Collection[str]) -> dict[str, str]:
    """Assign the tasks according to the names in each part of a split."""
    assignment: dict[str, str] = {}
    for split, members in parts:
        if not isinstance(members, list) or not all(isinstance(name, str) for name in members):
            raise FormatError(f"the tasks of {shown(split)} must be a list of names: got {shown(members)}")
        for name in members:
            if name in assignment:
                raise FormatError(f"every task must be in one split: {shown(name)} is in several")
            assignment[name] = split
    if unknown := assignment.keys() - set(names):
        raise FormatError(f"there is no task {shown(min(unknown))}")
    if missing := [name for name in names if name not in assignment]:
        raise FormatError(f"every task must be in a split: {shown(missing[0])} is in none")
    return assignment


class Fold(NamedTuple):
    """The fold that is the test split, counted from 1; the next one is for validation."""

    number: int
    total: int | None

    @classmethod
    def read(cls, text: object) -> "Fold":
        """Parse a fold: `2/5`, or `2` if a file has the folds.

        >>> Fold.read("2/5")
        Fold(number=2, total=5)
        """
        number, slash, total = str(text).partition("/")
        parts = [number, total] if slash else [number]
        if not all(part.isascii() and part.isdigit() and len(part) < 7 and int(part) for part in parts):
            raise SettingError(f"fold must be a number and a total, such as 2/5: got {shown(text)}")
        fold = cls(int(number), int(total) if slash else None)
        if slash and not (int(total) >= 3 and int(number) <= int(total)):
            raise SettingError(f"fold must be from 1/N to N/N, with at least 3 folds: got {shown(text)}")
        return fold

    def __str__(self) -> str:
        return str(self.number) if self.total is None else f"{self.number}/{self.total}"


def draw_fold(names: Collection[str], fold: Fold, seed: int) -> dict[str, str]:
    """Divide the tasks evenly into folds, whatever their order: every task is tested in one of them.

    >>> draw_fold("abcdef", Fold(1, 3), seed=0)
    {'d': 'test', 'a': 'valid', 'b': 'train', 'c': 'test', 'e': 'valid', 'f': 'train'}
    """
    if fold.total is None:
        raise SettingError(f"fold must have a total, such as {fold.number}/5: got {fold}")
    if len(names) < fold.total:
        raise FormatError(
            f"there must be at least {fold.total} tasks for {fold.total} folds: got {len(names)}"
        )
    drawn = _shuffled(names, Rng("fold", seed))
    return {name: _role(place % fold.total, fold.number, fold.total) for place, name in enumerate(drawn)}


def assign_fold(content: list[Any], names: Collection[str], fold: Fold | None) -> dict[str, str]:
    """Assign the tasks by the folds of a splits file: lists of names.

    >>> assign_fold([["a"], ["b"], ["c"]], ["a", "b", "c"], Fold(3, 3))
    {'a': 'valid', 'b': 'train', 'c': 'test'}
    """
    count = len(content)
    if count < 3:
        raise FormatError(f"there must be at least 3 folds, each a list of names: got {count}")
    if fold is None:
        raise FormatError(f"there are {count} folds: say which is tested, such as fold 1/{count}")
    if fold.total not in (None, count) or fold.number > count:
        raise FormatError(f"there are {count} folds: got fold {fold}")
    roles = [_role(place, fold.number, count) for place in range(count)]
    return _assign(zip(roles, content, strict=True), names)


def _role(place: int, number: int, count: int) -> str:
    """The split of the tasks in one fold, counted from 0, if fold `number` is tested."""
    return {number - 1: "test", number % count: "valid"}.get(place, "train")


def check_complete(splits: Collection[str]) -> None:
    """Raise unless there are train, valid and test splits among these names."""
    for needed in ("train", "valid", "test"):
        if not any(split.startswith(needed) for split in splits):
            only_test = all(split.startswith("test") for split in splits)
            hint = "; to score a trained model on them: tam eval RUN --tasks FILE" if only_test else ""
            raise FormatError(f"there must be train, valid and test tasks: there are no {needed} tasks{hint}")
