"""Path-finding against plain breadth-first search, and against the paper's own paths."""

from collections import deque
from itertools import pairwise
from math import isclose, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tam.errors import UserError
from tam.tasks.pathfinding import PathfindingFamily, blob, paths, shortest_path
from tam.tasks.rng import Rng
from tam.tasks.task import Sequences

# The paper's appendix: obstacles, stops, target (offset by 100).
PAPER = [
    ([39, 78, 51, 9, 31, 63, 44, 69], [70, 14], [170, 160, 150, 140, 130, 121, 112, 103, 114]),
    ([12, 35, 99, 22, 62, 44, 25, 21], [70, 14], [170, 161, 152, 143, 134, 124, 114]),
    ([90, 99, 1, 96, 34, 50, 94, 31], [70, 14], [170, 171, 162, 152, 143, 133, 123, 114]),
    ([63, 38, 90, 93, 73, 68, 18, 67], [26, 42, 22], [126, 115, 124, 133, 142, 131, 122]),
    ([95, 60, 95, 70, 23, 34, 83, 85], [26, 42, 22], [126, 115, 104, 113, 122, 131, 142, 131, 122]),
    ([91, 29, 57, 96, 8, 53, 77, 13], [26, 42, 22], [126, 125, 134, 133, 142, 131, 122]),
]
DRAWINGS = {  # of some of these obstacles, in the paper
    0: """.........#
          .........#
          ..........
          .##......#
          .##.##...#
          .##.##....
          .####....#
          ...##...##
          ........##
          ..........""",
    2: """.##.......
          .##.......
          ..........
          .##.##....
          .##.##....
          ##........
          ##........
          ..........
          ..........
          ##..####.#""",
}

# The oracle


def covered(obstacles: list[int]) -> set[int]:
    """The cells under 2×2 blobs with these top-left cells; what is beyond the border is cut off."""
    cells = set()
    for corner in obstacles:
        for row in (corner // 10, corner // 10 + 1):
            for column in (corner % 10, corner % 10 + 1):
                if row < 10 and column < 10:
                    cells.add(10 * row + column)
    return cells


def search(blocked: set[int], start: int) -> dict[int, int]:
    """Breadth-first search: the cell from which each reachable cell was reached first."""
    parents = {start: start}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                row, column = here // 10 + down, here % 10 + right
                cell = 10 * row + column
                inside = 0 <= row < 10 and 0 <= column < 10
                if inside and cell not in blocked and cell not in parents:
                    parents[cell] = here
                    queue.append(cell)
    return parents


def walk_back(parents: dict[int, int], end: int) -> list[int]:
    path = [end]
    while parents[path[-1]] != path[-1]:
        path.append(parents[path[-1]])
    return path[::-1]


def oracle(obstacles: list[int], stops: list[int]) -> list[int]:
    """The path through the stops, each leg on its own; empty if there is none."""
    path = stops[:1]
    for start, end in pairwise(stops):
        parents = search(covered(obstacles), start)
        if end not in parents:
            return []
        path += walk_back(parents, end)[1:]
    return path


cell = st.integers(0, 99)


@pytest.mark.parametrize(("obstacles", "stops", "target"), PAPER)
def test_paths_of_the_paper(obstacles: list[int], stops: list[int], target: list[int]) -> None:
    start, *via, end = stops
    assert [100 + place for place in shortest_path(obstacles, start, end, *via)] == target
    assert [100 + place for place in oracle(obstacles, stops)] == target


@pytest.mark.parametrize("number", DRAWINGS)
def test_obstacles_of_the_paper(number: int) -> None:
    black = [place for place, letter in enumerate("".join(DRAWINGS[number].split())) if letter == "#"]
    assert sorted({place for corner in PAPER[number][0] for place in blob(corner)}) == black


@given(st.lists(cell, max_size=30), st.lists(cell, min_size=2, max_size=3))
@settings(max_examples=200, deadline=None)
def test_shortest_path(obstacles: list[int], stops: list[int]) -> None:
    if hit := covered(obstacles).intersection(stops):
        with pytest.raises(UserError, match=f"covers cell {min(hit)},"):
            shortest_path(obstacles, stops[0], stops[-1], *stops[1:-1])
    else:
        assert shortest_path(obstacles, stops[0], stops[-1], *stops[1:-1]) == oracle(obstacles, stops)


@pytest.mark.parametrize(("blobs", "stops"), [(8, 2), (8, 3), (16, 3), (24, 2)])
def test_many_layouts_at_once(blobs: int, stops: int) -> None:
    rng = Rng("layouts", blobs, stops)
    layouts = rng.integers(100, 600 * blobs).reshape(600, blobs)
    columns = rng.integers(100, 600 * stops).reshape(stops, 600)
    pairs = zip(layouts.tolist(), columns.T.tolist(), strict=True)
    free = np.array([not covered(layout).intersection(cells) for layout, cells in pairs])
    layouts, columns = layouts[free], columns[:, free]
    found, lengths = paths(layouts, list(columns))
    expected = list(map(oracle, layouts.tolist(), columns.T.tolist()))
    assert lengths.tolist() == [len(path) for path in expected]
    for row, path in zip(found.tolist(), expected, strict=True):
        assert row == path + [0] * (found.shape[1] - len(path))
    assert len(set(lengths.tolist())) > 5
    assert blobs == 8 or 0 in lengths


def test_walls() -> None:
    wall = [40, 42, 44, 46, 48]
    assert shortest_path(wall, 0, 99) == shortest_path(wall, 0, 9, 99) == []
    assert shortest_path(wall, 0, 39) == oracle(wall, [0, 39]) != []
    assert (shortest_path([], 7, 7), shortest_path([], 7, 7, 8)) == ([7], [7, 8, 7])
    for beyond in (100, -1):
        with pytest.raises(UserError, match=f"from 0 to 99: got cell {beyond}"):
            shortest_path([], 0, beyond)


# The family


def test_every_choice_of_different_cells_is_a_task_of_its_own() -> None:
    for waypoint, slots, tasks in ((False, 2, 9_900), (True, 3, 970_200)):
        family = PathfindingFamily(waypoint=waypoint)
        assert [len(slot) for slot in family.slots] == [100] * slots
        functions = family.functions
        numbers = functions[functions >= 0]
        assert len(numbers) == len(np.unique(numbers)) == tasks
        assert functions[(7,) * slots] == -1
    assert family.functions[3, 4, 3] == family.functions[3, 3, 4] == family.functions[4, 3, 3] == -1
    assert family.vocabulary.tokens == tuple(range(200))


def test_names() -> None:
    two, three = (PathfindingFamily(waypoint=waypoint) for waypoint in (False, True))
    assert two.title((70, 14)) == "(7,0) → (1,4)"
    assert three.title((26, 42, 22)) == "(2,6) → via (4,2) → (2,2)"
    assert three.primitives((9, 70, 14)) == ("start (0,9)", "via (7,0)", "end (1,4)")


@pytest.mark.parametrize("recipe", [(70, 14), (0, 99), (26, 42, 22), (0, 11, 1), (99, 90, 9)])
def test_examples(recipe: tuple[int, ...]) -> None:
    x, y = PathfindingFamily(waypoint=len(recipe) == 3).examples(recipe, 520, Rng("examples", *recipe))
    assert isinstance(y, Sequences)
    assert (x.ids.shape, len(y)) == ((520, 8), 520)
    fitting = [corner for corner in range(100) if not covered([corner]).intersection(recipe)]
    assert set(x.flat.tolist()) == set(fitting)
    for row, layout in enumerate(x.ids.tolist()):
        assert y.row(row).tolist() == [100 + place for place in oracle(layout, list(recipe))] != []


def test_layouts_without_a_path_are_drawn_again() -> None:
    """Of layouts that leave the two corners free, some shut one in: those must be missing."""
    recipe = (0, 99)
    free = [corner for corner in range(100) if not covered([corner]).intersection(recipe)]
    rng = Rng("many")
    layouts = np.array(free)[rng.integers(len(free), 30_000 * 8)].reshape(30_000, 8)
    _, lengths = paths(layouts, [np.full(30_000, cell) for cell in recipe])
    assert 0 in lengths
    _, y = PathfindingFamily(waypoint=False).examples(recipe, 30_000, Rng("many"))
    assert isinstance(y, Sequences)
    assert y.lengths.min() >= 10


@pytest.mark.parametrize("waypoint", [False, True])
def test_answers_of_many_tasks(waypoint: bool) -> None:
    family = PathfindingFamily(waypoint=waypoint)
    rng = Rng("answers", int(waypoint))
    recipes = [[1, 0, 2][: 2 + waypoint], [0, 22, 99][-2 - waypoint :]]
    recipes += [rng.permutation(100)[: 2 + waypoint].tolist() for _ in range(40)]
    x = rng.integers(100, 30 * 8).reshape(30, 8)
    x[0] = [10, 2, 12, 2, 2, 2, 2, 2]  # shuts in 0 and 1
    y, log_p = family.answers(np.array(recipes), x)
    impossible = 0
    for place, recipe in enumerate(recipes):
        fitting = [corner for corner in range(100) if not covered([corner]).intersection(recipe)]
        for row, layout in enumerate(x.tolist()):
            path = oracle(layout, recipe)
            if covered(layout).intersection(recipe) or not path:
                impossible += 1
                assert log_p[place, row] == -np.inf
            else:
                expected = [100 + cell for cell in path] + [-1] * (y.shape[2] - len(path))
                assert y[place, row].tolist() == expected
                assert isclose(log_p[place, row], -8 * log(len(fitting)))
    assert 0 < impossible < len(recipes) * len(x)
