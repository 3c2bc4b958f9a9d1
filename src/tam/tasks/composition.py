"""Compositional benchmarks: new tasks have exactly one primitive that training never shows."""

from collections.abc import Container, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tam.errors import SettingError, UserError, shown
from tam.tasks.family import Family, Recipe, random_order
from tam.tasks.rng import Rng

HELD_OUT = 0.1
"""The share of the primitives of every slot that training does not see."""

Places = tuple[NDArray[np.intp], ...]
"""Indices of primitives, for each slot."""


class HoldOut(NamedTuple):
    """The primitives that training sees, and those it does not."""

    seen: Places
    unseen: Places


def hold_out(family: Family, seed: int, holdout: int) -> HoldOut:
    """Draw the unseen primitives of every slot."""
    rng = Rng("hold out", seed, holdout)
    orders = [rng.permutation(len(slot)) for slot in family.slots]
    cuts = [max(1, round(HELD_OUT * len(slot))) for slot in family.slots]
    unseen = tuple(np.sort(order[:cut]) for order, cut in zip(orders, cuts, strict=True))
    seen = tuple(np.sort(order[cut:]) for order, cut in zip(orders, cuts, strict=True))
    return HoldOut(seen, unseen)


def compose(family: Family, sizes: tuple[int, int, int], seed: int, holdout: int) -> dict[str, list[Recipe]]:
    """Draw train tasks of seen primitives, and valid and test tasks with exactly one unseen primitive.

    The other primitives of valid and test tasks all occur in training, and the slot of the unseen one
    is uniform. On some input, each of these tasks differs from every task of seen primitives
    and from every other valid or test task.
    """
    parts = hold_out(family, seed, holdout)
    n_train, n_valid, n_test = sizes
    train = random_order(family, parts.seen, Rng("composed training tasks", seed, holdout))
    if len(train) < n_train:
        raise SettingError(f"train must be at most {len(train)} for hold-out {holdout}: got {n_train}")
    train = train[:n_train]
    held = _unseen_tasks(family, parts, train, n_valid + n_test, Rng("composed test tasks", seed, holdout))
    return {"train": train, "valid": held[:n_valid], "test": held[n_valid:]}


def one_unseen(parts: HoldOut, train: list[Recipe]) -> list[Places]:
    """For each slot, the primitives to draw valid and test tasks from if its primitive is the unseen one."""
    known = tuple(np.unique(places) for places in zip(*train, strict=True))
    return [(*known[:slot], unseen, *known[slot + 1 :]) for slot, unseen in enumerate(parts.unseen)]


def is_new(family: Family, parts: HoldOut) -> NDArray[np.bool_]:
    """For every recipe, whether no task of seen primitives has the same targets on all inputs."""
    return ~np.isin(family.targets, family.targets[np.ix_(*parts.seen)])


def _unseen_tasks(family: Family, parts: HoldOut, train: list[Recipe], count: int, rng: Rng) -> list[Recipe]:
    new = is_new(family, parts)
    queues = [
        [recipe for recipe in random_order(family, allowed, rng, by_targets=True) if new[recipe]][::-1]
        for allowed in one_unseen(parts, train)
    ]
    chosen: dict[int, Recipe] = {}  # by targets
    while len(chosen) < count:
        open_slots = [queue for queue in queues if queue]
        if not open_slots:
            raise UserError(f"valid + test must be at most {len(chosen)} here: got {count}")
        recipe = open_slots[rng.integers(len(open_slots), 1)[0]].pop()
        chosen.setdefault(int(family.targets[recipe]), recipe)
    return list(chosen.values())


class PrimitivesError(UserError):
    """A task's primitives do not fit a model; `problem` says why, without the task."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.problem = problem


def unknown_slot(where: str, primitives: Sequence[str], known: Container[str]) -> int:
    """The slot of the one primitive of a task that a model does not know; errors begin with `where`.

    >>> unknown_slot("task 'a'", ["add 3", "flip"], {"add 3": 0, "add 4": 1})
    1
    """
    slots = [slot for slot, name in enumerate(primitives) if name not in known]
    if len(slots) != 1:
        raise PrimitivesError(
            where,
            f"exactly one of the task's primitives must be unknown to the model, not {len(slots)} of "
            f"{shown(list(primitives))}: it is the one that the model learns",
        )
    return slots[0]
