"""Path-finding: the shortest path around obstacles between two cells of a 10×10 grid.

A task is a start and an end; in the compositional form also a waypoint that the path must touch. An
example is a layout of 8 obstacles, each a 2×2 blob given by its top-left cell and cut off at the
border. Cells are numbered row by row; in answers they are offset by 100.

Moves go to all 8 neighbours. Of several shortest paths, the answer is the lexicographically
first, which breadth-first search finds if it visits neighbours row by row.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from tam.errors import UserError
from tam.tasks.family import Answers, ExampleArrays, Family, Recipe, Recipes
from tam.tasks.rng import Rng
from tam.tasks.task import Integers, Sequences, compact
from tam.tasks.vocabulary import Vocabulary

SIDE = 10
CELLS = SIDE * SIDE
BLOBS = 8
OFFSET = CELLS

# A set of cells is two 64-bit words: the upper five rows in the first, the lower five in the second.
Cells = Integers
Grids = NDArray[np.uint64]  # [..., 2]
_HALF = CELLS // 2
_WORD = np.uint64((1 << _HALF) - 1)
_ONE, _ROW = np.uint64(1), np.uint64(SIDE)
_LAST_ROW = np.uint64(_HALF - SIDE)


def _grid(cells: Sequence[int]) -> Grids:
    words = [0, 0]
    for cell in cells:
        words[cell // _HALF] |= 1 << (cell % _HALF)
    return np.array(words, dtype=np.uint64)


def blob(cell: int) -> list[int]:
    """The cells of the obstacle with this top-left cell."""
    row, column = divmod(cell, SIDE)
    rows, columns = range(row, min(row + 2, SIDE)), range(column, min(column + 2, SIDE))
    return [r * SIDE + c for r in rows for c in columns]


_CELL = np.array([_grid([cell]) for cell in range(CELLS)])
_BLOB = np.array([_grid(blob(cell)) for cell in range(CELLS)])
_NOT_FIRST_COLUMN = ~_grid(range(0, CELLS, SIDE)) & _WORD
_NOT_LAST_COLUMN = ~_grid(range(SIDE - 1, CELLS, SIDE)) & _WORD


def _spread(grids: Grids) -> Grids:
    """These cells and all their neighbours."""
    wide = grids | ((grids << _ONE) & _NOT_FIRST_COLUMN) | ((grids >> _ONE) & _NOT_LAST_COLUMN)
    tall = wide | ((wide << _ROW) & _WORD) | (wide >> _ROW)
    tall[..., 0] |= (wide[..., 1] << _LAST_ROW) & _WORD
    tall[..., 1] |= wide[..., 0] >> _LAST_ROW
    return tall


_NEAR = _spread(_CELL)


def _first_cell(grids: Grids) -> Cells:
    """The smallest cell of each set; no set may be empty."""
    low = grids[:, 0] != 0
    word = np.where(low, grids[:, 0], grids[:, 1])
    bit = np.bitwise_count((word & (~word + _ONE)) - _ONE).astype(np.int64)
    return np.where(low, bit, bit + _HALF)


def _waves(free: Grids, goals: Cells, starts: Cells) -> list[Grids]:
    """The cells at distance 0, 1, 2 … from the goal, until every start is reached or unreachable."""
    wave = _CELL[goals]
    waves, reached, wanted = [wave], wave, _CELL[starts]
    while ((reached & wanted) == 0).all(1).any():
        wave = _spread(wave) & free & ~reached
        if not wave.any():
            break
        reached = reached | wave
        waves.append(wave)
    return waves


def _walk(free: Grids, starts: Cells, goals: Cells) -> tuple[Cells, Cells]:
    """Paths on many grids at once: cells [rows, longest] and lengths [rows], 0 where there is no path."""
    waves = np.stack(_waves(free, goals, starts))  # [distances, rows, 2]
    everyone = np.arange(len(starts))
    on_wave = ((waves & _CELL[starts]) != 0).any(2)
    reached = on_wave.any(0)
    distance = np.where(reached, on_wave.argmax(0), 0)
    path = np.zeros((len(starts), int(distance.max(initial=0)) + 1), dtype=np.int64)
    here = np.where(reached, starts, goals)
    path[:, 0] = here
    for step in range(1, path.shape[1]):
        left = np.maximum(distance - step, 0)
        here = _first_cell(
            np.where((distance < step)[:, None], _CELL[goals], _NEAR[here] & waves[left, everyone])
        )
        path[:, step] = here
    return path, np.where(reached, distance + 1, 0)


def paths(obstacles: Cells, stops: Sequence[Cells]) -> tuple[Cells, Cells]:
    """The shortest paths around obstacles [rows, blobs] through two or more stops, each [rows].

    Returns cells [rows, longest], padded with zeros, and lengths [rows], 0 where there is no path. A
    waypoint, where two legs meet, appears once.
    """
    free = ~np.bitwise_or.reduce(_BLOB[obstacles], axis=1) & _WORD
    legs = [_walk(free, start, goal) for start, goal in pairwise(stops)]
    reached = np.all([length > 0 for _, length in legs], axis=0)
    used = [(np.arange(path.shape[1]) < length[:, None]) & reached[:, None] for path, length in legs]
    all_cells = np.concatenate([path[:, min(leg, 1) :] for leg, (path, _) in enumerate(legs)], axis=1)
    all_used = np.concatenate([part[:, min(leg, 1) :] for leg, part in enumerate(used)], axis=1)
    length = all_used.sum(1)
    order = np.argsort(~all_used, axis=1, kind="stable")[:, : length.max(initial=0)]  # move gaps to the end
    return np.take_along_axis(all_cells * all_used, order, axis=1), length


def shortest_path(obstacles: Sequence[int], start: int, end: int, waypoint: int | None = None) -> list[int]:
    """The path as cells without the offset, start and end included; empty if there is none.

    Args:
        obstacles: The top-left cells of the blobs.
        start: The first cell of the path.
        end: The last cell of the path.
        waypoint: A cell that the path must touch.

    ExampleArrays:
        >>> shortest_path([12, 35, 99, 22, 62, 44, 25, 21], 70, 14)
        [70, 61, 52, 43, 34, 24, 14]
    """
    stops = [start, end] if waypoint is None else [start, waypoint, end]
    for cell in (*obstacles, *stops):
        if not 0 <= cell < CELLS:
            raise UserError(f"cells must be integers from 0 to {CELLS - 1}: got cell {cell}")
    blocked = {cell for corner in obstacles for cell in blob(corner)}
    if hit := blocked.intersection(stops):
        raise UserError(f"an obstacle covers cell {min(hit)}, which the path must touch")
    layout = np.array([list(obstacles)], dtype=np.int64)
    path, length = paths(layout, [np.array([cell]) for cell in stops])
    return path[0, : length[0]].tolist()


class PathfindingFamily(Family):
    """All tasks on the grid: different cells as start and end, or as start, waypoint and end."""

    def __init__(self, *, waypoint: bool) -> None:
        self.vocabulary = Vocabulary(range(OFFSET + CELLS))
        roles = ("start", "via", "end") if waypoint else ("start", "end")
        self.slots = tuple(tuple(f"{role} {_coordinates(cell)}" for cell in range(CELLS)) for role in roles)
        places = np.indices((CELLS,) * len(roles))
        numbers = np.arange(places[0].size).reshape(places[0].shape)
        for one, other in combinations(places, 2):
            numbers[one == other] = -1
        self.functions = self.targets = numbers

    def title(self, recipe: Recipe) -> str:
        """Like the paper: `(7,0) → (1,4)`, `(2,6) → via (4,2) → (2,2)`."""
        return " → via ".join(map(_coordinates, recipe[:-1])) + f" → {_coordinates(recipe[-1])}"

    def answers(self, recipes: Recipes, x: Integers) -> Answers:
        """See `Family.answers`: a task draws its 8 blobs from those that leave its stops free.

        Redrawing layouts without a path makes all others slightly more likely, by nearly the same factor
        in every task; this is ignored.
        """
        tasks, rows = len(recipes), len(x)
        stops = np.bitwise_or.reduce(_CELL[recipes], axis=1)  # [tasks, 2]
        free_blobs = ((_BLOB & stops[:, None]) == 0).all(2).sum(1)
        covered = (np.bitwise_or.reduce(_BLOB[x], axis=1) & stops[:, None] != 0).any(2)
        layouts = np.broadcast_to(x, (tasks, *x.shape)).reshape(tasks * rows, -1)
        y, length = paths(layouts, [np.repeat(column, rows) for column in recipes.T])
        y = np.where(np.arange(y.shape[1]) < length[:, None], y + OFFSET, -1).reshape(tasks, rows, -1)
        possible = ~covered & (length > 0).reshape(tasks, rows)
        return Answers(y, np.where(possible, -BLOBS * np.log(free_blobs)[:, None], -np.inf))

    def examples(self, recipe: Recipe, count: int, rng: Rng) -> ExampleArrays:
        """`count` layouts that leave the stops free, with their paths; those without a path are redrawn."""
        stops = np.bitwise_or.reduce(_CELL[list(recipe)])
        allowed = np.flatnonzero(((_BLOB & stops) == 0).all(1))
        layouts = np.zeros((0, BLOBS), dtype=np.int64)
        flat, lengths = [], []
        while (missing := count - len(layouts)) > 0:
            more = allowed[rng.integers(len(allowed), missing * BLOBS)].reshape(missing, BLOBS)
            path, length = paths(more, [np.full(missing, cell) for cell in recipe])
            layouts = np.concatenate([layouts, more[length > 0]])
            flat.append(path[np.arange(path.shape[1]) < length[:, None]] + OFFSET)
            lengths.append(length[length > 0])
        x = Sequences(compact(layouts, CELLS - 1), compact(np.full(count, BLOBS), BLOBS))
        y = Sequences.from_flat(np.concatenate(flat), np.concatenate(lengths), len(self.vocabulary))
        return ExampleArrays(x, y)


def _coordinates(cell: int) -> str:
    row, column = divmod(cell, SIDE)
    return f"({row},{column})"
