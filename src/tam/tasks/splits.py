"""Which task is in which split: as a splits file says, or drawn from a seed.

An assignment maps the name of every task to its split.
"""

from collections.abc import Collection, Iterator

from tam.tasks.draws import Draws
from tam.tasks.jsonl_line import FormatError


def check_name(split: str) -> None:
    """Raise unless a split may have this name."""
    if split not in ("train", "valid") and not split.startswith("test"):
        raise FormatError(
            f"unknown split {split!r}: expected 'train', 'valid', 'test' or a name that begins with 'test'"
        )


def check_complete(splits: Collection[str]) -> None:
    """Raise unless there are train, valid and test splits among these names."""
    missing = [name for name in ("train", "valid") if name not in splits]
    if not any(name.startswith("test") for name in splits):
        missing.append("test")
    if missing:
        raise FormatError(f"no {' and no '.join(missing)} tasks: a task set has train, valid and test tasks")


def draw_splits(names: Collection[str], seed: int) -> dict[str, str]:
    """Assign 80 % of the tasks to train and 10 % each to valid and test, whatever their order.

    >>> draw_splits(["a", "b", "c"], seed=0)
    {'b': 'train', 'a': 'valid', 'c': 'test'}
    """
    if len(names) < 3:
        raise FormatError(
            f"only {len(names)} of the 3 tasks that train, valid and test need at least: add tasks"
        )
    ordered = sorted(names)
    drawn = [ordered[index] for index in Draws("split", int(seed)).permutation(len(ordered)).tolist()]
    held_out = max(1, (len(drawn) + 5) // 10)
    test, valid, train = drawn[:held_out], drawn[held_out : 2 * held_out], drawn[2 * held_out :]
    return dict.fromkeys(train, "train") | dict.fromkeys(valid, "valid") | dict.fromkeys(test, "test")


def assign_splits(content: object, names: Collection[str]) -> dict[str, str]:
    """Assign the tasks as the content of a splits file says.

    >>> assign_splits({"train": ["b"], "valid": ["a"], "test": ["c"]}, ["a", "b", "c"])
    {'b': 'train', 'a': 'valid', 'c': 'test'}
    """
    known = set(names)
    assignment: dict[str, str] = {}
    for split, name in _entries(content):
        if name not in known:
            raise FormatError(f"split {split!r} names {name!r}, but there is no such task")
        if name in assignment:
            raise FormatError(f"task {name!r} is in split {assignment[name]!r} and again in {split!r}")
        assignment[name] = split
    check_complete(set(assignment.values()))
    if left_out := [name for name in names if name not in assignment]:
        more = f" and so are {len(left_out) - 1} more" if len(left_out) > 1 else ""
        raise FormatError(f"task {left_out[0]!r} is in no split{more}: name every task once")
    return assignment


def _entries(content: object) -> Iterator[tuple[str, str]]:
    if not isinstance(content, dict):
        raise FormatError('expected an object {"train": [names], "valid": [names], "test": [names]}')
    for split, members in content.items():
        check_name(split)
        if not isinstance(members, list) or not all(isinstance(name, str) for name in members):
            raise FormatError(f"split {split!r}: expected a list of task names, all of them strings")
        if not members:
            raise FormatError(f"split {split!r} is empty: name its tasks")
        yield from ((split, name) for name in members)
