"""Path-finding examples drawn as maps on a canvas."""

from collections.abc import Sequence
from itertools import pairwise

from tam.report.canvas import (
    BLUE,
    FAINT,
    GREEN,
    MUTED,
    ORANGE,
    PALE,
    PURPLE,
    RED,
    RULE,
    SLATE,
    WHITE,
    Canvas,
    Point,
)
from tam.tasks.pathfinding import OFFSET, SIDE, blob, shortest_path

STOP_COLOURS = {"S": GREEN, "W": ORANGE, "E": RED}
LEG_COLOURS = (BLUE, PURPLE)

_SMALL = 16  # in cells of this many pixels numbers would not be legible
_TIP = 0.68  # of a step: where the head of its arrow is
_APART = (0.16, 0.05)  # of a cell: keeps two legs apart that use the same cells, in whatever direction


def draw_map(
    canvas: Canvas,
    left: float,
    top: float,
    obstacles: Sequence[int],
    stops: Sequence[int],
    *,
    cell: float,
    solved: bool = True,
) -> None:
    """A grid with its obstacles and stops and, if solved, the path."""
    side = SIDE * cell
    canvas.box(left, top, side, side, fill=PALE, edge=RULE, radius=3)
    for place in range(1, SIDE):
        x, y = left + place * cell, top + place * cell
        canvas.line([(x, top + 1.5), (x, top + side - 1.5)], WHITE)
        canvas.line([(left + 1.5, y), (left + side - 1.5, y)], WHITE)
    for corner in obstacles:
        _blob(canvas, left, top, corner, cell)
    for corner in obstacles if cell > _SMALL else ():
        x, y = _centre(left, top, corner, cell)
        canvas.text(x, y, str(corner), size=cell * 0.36, colour=WHITE, align="center")
    if solved:
        for number, (start, goal) in enumerate(pairwise(stops)):
            shift = 0 if len(stops) == 2 else 1 - 2 * number
            path = shortest_path(obstacles, start, goal)
            _leg(canvas, left, top, path, cell, LEG_COLOURS[number], shift)
    for stop, letter in zip(stops, "SE" if len(stops) == 2 else "SWE", strict=True):
        x, y = _centre(left, top, stop, cell)
        canvas.circle(x, y, cell * 0.44, STOP_COLOURS[letter])
        canvas.text(x, y, letter, size=cell * 0.5, colour=WHITE, bold=True, align="center")


def draw_axes(canvas: Canvas, left: float, top: float, cell: float) -> None:
    """The numbers of the rows and columns."""
    for place in range(SIDE):
        middle = (place + 0.5) * cell
        canvas.text(left - 9, top + middle, str(place), size=9, colour=FAINT, align="center")
        canvas.text(left + middle, top - 9, str(place), size=9, colour=FAINT, align="center")


def draw_tokens(
    canvas: Canvas, left: float, y: float, obstacles: Sequence[int], stops: Sequence[int]
) -> None:
    """The example as the learner sees it: the tokens of x, and below them those of y."""
    path = shortest_path(obstacles, stops[0], stops[-1], *stops[1:-1])
    lines = (("x", obstacles, SLATE), ("y", [cell + OFFSET for cell in path], BLUE))
    for number, (name, tokens, colour) in enumerate(lines):
        canvas.text(left, y + 17 * number, name, size=11, colour=MUTED, bold=True)
        words = " ".join(map(str, tokens))
        canvas.text(left + 15, y + 17 * number, words, size=10.5, colour=colour, mono=True)


def _centre(left: float, top: float, place: int, cell: float) -> Point:
    row, column = divmod(place, SIDE)
    return left + (column + 0.5) * cell, top + (row + 0.5) * cell


def _blob(canvas: Canvas, left: float, top: float, corner: int, cell: float) -> None:
    row, column = divmod(corner, SIDE)
    last_row, last_column = divmod(blob(corner)[-1], SIDE)
    width, height = (last_column - column + 1) * cell, (last_row - row + 1) * cell
    x, y = left + column * cell, top + row * cell
    canvas.box(x + 0.7, y + 0.7, width - 1.4, height - 1.4, fill=SLATE, edge=FAINT, radius=3, thickness=0.8)


def _leg(
    canvas: Canvas, left: float, top: float, path: Sequence[int], cell: float, colour: str, shift: int
) -> None:
    dx, dy = (shift * cell * part for part in _APART)
    points = [(x + dx, y + dy) for x, y in (_centre(left, top, place, cell) for place in path)]
    canvas.line(points, colour, cell * 0.09)
    for (x, y), (next_x, next_y) in pairwise(points):
        tip = x + _TIP * (next_x - x), y + _TIP * (next_y - y)
        canvas.arrow((x, y), tip, colour, 0.5, head=cell * 0.5)
