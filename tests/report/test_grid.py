from tam.report.grid import draw_grids, letters
from tam.tasks.pathfinding import shortest_path
from tam.tasks.task import Example

OBSTACLES = [63, 38, 90, 93, 73, 68, 18, 67]
"""The fourth grid of the paper's appendix."""


def example(obstacles: list[int], *stops: int) -> Example:
    start, *via, end = stops
    path = shortest_path(obstacles, start, end, *via)
    return Example(list(obstacles), [100 + cell for cell in path])


WAYPOINT = """\
· · · · · · · · · ·
· · · · · * · · # #
· · E · * · S · # #
· * · * · · · · # #
· · W · · · · · # #
· · · · · · · · · ·
· · · # # · · # # #
· · · # # · · # # #
· · · # # · · · · ·
# # · # # · · · · ·"""


def test_a_grid_with_a_waypoint() -> None:
    grid = letters(example(OBSTACLES, 26, 42, 22), [26, 42, 22])
    assert draw_grids([grid], colour=False) == WAYPOINT


def test_grids_stand_side_by_side() -> None:
    one = letters(example(OBSTACLES, 26, 42, 22), [26, 42, 22])
    other = letters(example([8], 0, 3), [0, 3])
    lines = draw_grids([one, other], colour=False).splitlines()
    assert len(lines) == 10
    assert lines[0] == "· · · · · · · · · ·    S * * E · · · · # #"
    assert lines[9] == "# # · # # · · · · ·    · · · · · · · · · ·"


def test_colours_are_put_around_letters() -> None:
    grid = letters(example(OBSTACLES, 26, 42, 22), [26, 42, 22])
    drawn = draw_grids([grid], colour=True)
    assert "\x1b[30;42mS \x1b[0m" in drawn
    assert drawn.count("\x1b[0m") == 100
    assert "\x1b" not in draw_grids([grid], colour=False)
