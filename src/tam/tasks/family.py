"""What a benchmark's generator gives: a family of tasks, each a choice of one primitive per slot."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tam.tasks.draws import Draws
from tam.tasks.task import Classes, Integers, Sequences
from tam.tasks.vocabulary import Vocabulary

Choice = tuple[int, ...]
"""One primitive of every slot, by its place in the slot."""


Choices = Integers
"""Many choices: [tasks, slots]."""


class Answers(NamedTuple):
    """What many tasks answer to the same inputs."""

    y: Integers  # [tasks, rows, width]: tokens, or one class; -1 after the end
    log_p: NDArray[
        np.float64
    ]  # [tasks, rows]: how likely a task is to draw this input, -inf if it never does


class Data(NamedTuple):
    """The examples of one task."""

    x: Sequences
    y: Classes | Sequences


class Family(Protocol):
    """A family of tasks over slots of primitives."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens of inputs and answers."""
        ...

    @property
    def slots(self) -> tuple[tuple[str, ...], ...]:
        """The names of the primitives of each slot."""
        ...

    @property
    def functions(self) -> Integers:
        """One number for every choice, an axis a slot: equal numbers are the same task, -1 is none."""
        ...

    @property
    def targets(self) -> Integers:
        """Like `functions`, but equal numbers are tasks that give every input the same y.

        A learner cannot tell such tasks apart. Tasks with the same function have the same targets.
        """
        ...

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """How often each choice is drawn; None where every task is equally likely."""
        ...

    def title(self, choice: Choice) -> str:
        """The name of a task."""
        ...

    def examples(self, choice: Choice, count: int, draws: Draws) -> Data:
        """Draw `count` examples of a task."""
        ...

    def answers(self, choices: Choices, x: Integers) -> Answers:
        """What many tasks answer to the same inputs, [rows, width]."""
        ...


class Pool(NamedTuple):
    """Choices to draw from: one number a task, and how likely each choice is."""

    choices: Choices
    functions: Integers
    weights: NDArray[np.float64]


def pool(family: Family, allowed: Sequence[Integers], *, by_targets: bool = False) -> Pool:
    """Every choice with primitives from `allowed` that is a task.

    Choices are the same task if their functions are equal or, with `by_targets`, their targets.
    """
    grid = np.ix_(*allowed)
    numbers = family.targets if by_targets else family.functions
    functions = numbers[grid].reshape(-1)
    places = np.flatnonzero(functions >= 0)
    functions = functions[places]
    if family.weights is None:
        _, inverse, sizes = np.unique(functions, return_inverse=True, return_counts=True)
        weights = 1.0 / sizes[inverse]
    else:
        weights = family.weights[grid].reshape(-1)[places]
    columns = np.unravel_index(places, tuple(len(axis) for axis in allowed))
    choices = [axis[column] for axis, column in zip(allowed, columns, strict=True)]
    return Pool(np.stack(choices, axis=1), functions, weights)


def race(
    family: Family, allowed: Sequence[Integers], draws: Draws, *, by_targets: bool = False
) -> list[Choice]:
    """Every task with primitives from `allowed`, in the order of a draw without replacement.

    A race of exponential clocks: a choice rings after an exponential time of rate its weight, which
    draws like picking choices one after another and rejecting those of a task already drawn. See
    `pool` for which choices are the same task.
    """
    choices, functions, weights = pool(family, allowed, by_targets=by_targets)
    order = np.argsort(draws.exponentials(len(functions)) / weights, kind="stable")
    _, first = np.unique(functions[order], return_index=True)
    return [tuple(choice) for choice in choices[order[np.sort(first)]].tolist()]
