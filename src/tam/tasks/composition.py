"""The compositional form of a benchmark: tasks with one primitive that training never shows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tam.errors import UserError
from tam.tasks.draws import Draws
from tam.tasks.family import Choice, Family, race

HELD_OUT = 0.1
"""The share of the primitives of every slot that training does not see."""

Places = tuple[NDArray[np.intp], ...]


class HoldOut(NamedTuple):
    """The primitives of every slot, by whether training sees them."""

    seen: Places
    unseen: Places


class Composition(NamedTuple):
    """The tasks of a compositional set."""

    train: list[Choice]
    valid: list[Choice]
    test: list[Choice]


def hold_out(family: Family, seed: int, holdout: int) -> HoldOut:
    """Draw the unseen primitives of every slot."""
    draws = Draws("hold out", seed, holdout)
    orders = [draws.permutation(len(slot)) for slot in family.slots]
    cuts = [max(1, round(HELD_OUT * len(slot))) for slot in family.slots]
    unseen = tuple(np.sort(order[:cut]) for order, cut in zip(orders, cuts, strict=True))
    seen = tuple(np.sort(order[cut:]) for order, cut in zip(orders, cuts, strict=True))
    return HoldOut(seen, unseen)


def compose(family: Family, sizes: tuple[int, int, int], seed: int, holdout: int) -> Composition:
    """Draw training tasks from seen primitives, and valid and test tasks with exactly one unseen.

    The known primitives of valid and test tasks all occur in training, and the slot of the unseen one
    is uniform. Each of these tasks differs in its targets, on some input, from every task that seen
    primitives alone can express and from all other valid and test tasks.
    """
    parts = hold_out(family, seed, holdout)
    n_train, n_valid, n_test = sizes
    train = race(family, parts.seen, Draws("composed training tasks", seed, holdout))
    if len(train) < n_train:
        raise UserError(f"{n_train} training tasks were asked for, but hold-out {holdout} has {len(train)}")
    train = train[:n_train]
    held = _unseen_tasks(family, parts, train, n_valid + n_test, Draws("composed test tasks", seed, holdout))
    return Composition(train, held[:n_valid], held[n_valid:])


def one_unseen(parts: HoldOut, train: list[Choice]) -> list[Places]:
    """For each slot the primitives that valid and test tasks have if it is the unseen one."""
    known = tuple(np.unique(places) for places in zip(*train, strict=True))
    return [(*known[:slot], unseen, *known[slot + 1 :]) for slot, unseen in enumerate(parts.unseen)]


def is_new(family: Family, parts: HoldOut) -> NDArray[np.bool_]:
    """For every choice whether no task of seen primitives has the same targets on all inputs."""
    return ~np.isin(family.targets, family.targets[np.ix_(*parts.seen)])


def _unseen_tasks(
    family: Family, parts: HoldOut, train: list[Choice], count: int, draws: Draws
) -> list[Choice]:
    new = is_new(family, parts)
    queues = [
        [choice for choice in race(family, allowed, draws, by_targets=True) if new[choice]][::-1]
        for allowed in one_unseen(parts, train)
    ]
    taken: set[int] = set()
    chosen: list[Choice] = []
    while len(chosen) < count:
        open_slots = [queue for queue in queues if queue]
        if not open_slots:
            raise UserError(
                f"{count} tasks with one unseen primitive were asked for; there are {len(chosen)}"
            )
        choice = open_slots[draws.integers(len(open_slots), 1)[0]].pop()
        target = int(family.targets[choice])
        if target not in taken:
            taken.add(target)
            chosen.append(choice)
    return chosen
