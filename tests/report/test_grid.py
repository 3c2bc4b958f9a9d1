from tam.report.grid import draw_grids, letters
from tam.tasks.pathfinding import shortest_path
from tam.tasks.task import Example

OBSTACLES = [63, 38, 90, 93, 73, 68, 18, 67]
"""The fourth grid of the paper's appendix."""


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
    path = shortest_path(OBSTACLES, 26, 22, 42)
    grid = letters(Example(list(OBSTACLES), [100 + cell for cell in path]), [26, 42, 22])
    assert draw_grids([grid], colour=False) == WAYPOINT
    coloured = draw_grids([grid], colour=True)
    assert "\x1b[30;42mS \x1b[0m" in coloured
    assert coloured.count("\x1b[0m") == 100
