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

    The known primitives of valid and test tasks all occur in training, the slot of the unseen one is
    uniform, and no such task can be expressed with seen primitives alone.
    """
    parts = hold_out(family, seed, holdout)
    n_train, n_valid, n_test = sizes
    train = race(family, parts.seen, Draws("composed training tasks", seed, holdout))
    if len(train) < n_train:
        raise UserError(f"{n_train} training tasks were asked for, but hold-out {holdout} has {len(train)}")
    train = train[:n_train]
    held = _unseen_tasks(family, parts, train, n_valid + n_test, Draws("composed test tasks", seed, holdout))
    return Composition(train, held[:n_valid], held[n_valid:])


def _unseen_tasks(
    family: Family, parts: HoldOut, train: list[Choice], count: int, draws: Draws
) -> list[Choice]:
    known = tuple(np.unique(places) for places in zip(*train, strict=True))
    expressible = np.unique(family.functions[np.ix_(*parts.seen)])
    queues: list[list[Choice]] = []
    for slot, unseen in enumerate(parts.unseen):
        ordered = race(family, (*known[:slot], unseen, *known[slot + 1 :]), draws)
        new = ~np.isin([family.functions[choice] for choice in ordered], expressible)
        queues.append([choice for choice, is_new in zip(ordered, new, strict=True) if is_new][::-1])
    taken: set[int] = set()
    chosen: list[Choice] = []
    while len(chosen) < count:
        open_slots = [queue for queue in queues if queue]
        if not open_slots:
            raise UserError(
                f"{count} tasks with one unseen primitive were asked for; there are {len(chosen)}"
            )
        choice = open_slots[draws.integers(len(open_slots), 1)[0]].pop()
        function = int(family.functions[choice])
        if function not in taken:
            taken.add(function)
            chosen.append(choice)
    return chosen
