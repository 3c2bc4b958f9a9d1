"""Draw path-finding examples as grids of letters, in colour on a terminal."""

from collections.abc import Sequence

from tam.tasks.pathfinding import OFFSET, SIDE, blob
from tam.tasks.task import Example

START, END, WAYPOINT, OBSTACLE, PATH, FREE = "S", "E", "W", "#", "*", "·"

_COLOURS = {START: "30;42", END: "30;41", WAYPOINT: "30;43", OBSTACLE: "37;100", PATH: "36;1", FREE: "2"}


def letters(example: Example, stops: Sequence[int]) -> list[list[str]]:
    """The letters of an example's grid, row by row; `stops` are the start, any waypoint, and the end."""
    path = [int(token) - OFFSET for token in example.y] if isinstance(example.y, list) else []
    cells = dict.fromkeys(path, PATH)
    cells |= {cell: OBSTACLE for token in example.x for cell in blob(int(token))}
    cells |= dict.fromkeys(stops[1:-1], WAYPOINT) | {stops[0]: START, stops[-1]: END}
    return [[cells.get(row * SIDE + column, FREE) for column in range(SIDE)] for row in range(SIDE)]


def draw_grids(grids: Sequence[list[list[str]]], *, colour: bool) -> str:
    """Draw grids side by side."""

    def cell(letter: str) -> str:
        return f"\x1b[{_COLOURS[letter]}m{letter} \x1b[0m" if colour else f"{letter} "

    lines = ("   ".join("".join(map(cell, grid[row])) for grid in grids).rstrip() for row in range(SIDE))
    return "\n".join(lines)
