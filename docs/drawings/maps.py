"""Draw path-finding examples as maps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from drawings.canvas import (
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

_SMALL = 16  # cells of this many pixels are too small for numbers
_TIP = 0.68  # position of the arrow head, as a fraction of a step
_APART = (0.16, 0.05)  # shift between two legs through the same cells, as a fraction of a cell


@dataclass(frozen=True)
class Map:
    """An example of path-finding, and the place of its grid on a canvas."""

    canvas: Canvas
    left: float
    top: float
    cell: float
    obstacles: Sequence[int]
    stops: Sequence[int]

    def draw(self, *, solved: bool = True) -> None:
        """Draw the grid with its obstacles and stops and, if solved, the path."""
        canvas, cell, side = self.canvas, self.cell, SIDE * self.cell
        canvas.box(self.left, self.top, side, side, fill=PALE, edge=RULE, radius=3)
        for place in range(1, SIDE):
            x, y = self.left + place * cell, self.top + place * cell
            canvas.line([(x, self.top + 1.5), (x, self.top + side - 1.5)], WHITE)
            canvas.line([(self.left + 1.5, y), (self.left + side - 1.5, y)], WHITE)
        for corner in self.obstacles:
            self._draw_blob(corner)
        for corner in self.obstacles if cell > _SMALL else ():
            canvas.text(*self._centre(corner), str(corner), size=cell * 0.36, colour=WHITE, align="center")
        for leg, (start, goal) in enumerate(pairwise(self.stops) if solved else ()):
            shift = 0 if len(self.stops) == 2 else 1 - 2 * leg
            self._draw_leg(shortest_path(self.obstacles, start, goal), LEG_COLOURS[leg], shift)
        for stop, letter in zip(self.stops, "SE" if len(self.stops) == 2 else "SWE", strict=True):
            x, y = self._centre(stop)
            canvas.circle(x, y, cell * 0.44, STOP_COLOURS[letter])
            canvas.text(x, y, letter, size=cell * 0.5, colour=WHITE, bold=True, align="center")

    def draw_axes(self) -> None:
        """Draw the numbers of the rows and columns."""
        for place in range(SIDE):
            middle = (place + 0.5) * self.cell
            for x, y in ((self.left - 9, self.top + middle), (self.left + middle, self.top - 9)):
                self.canvas.text(x, y, str(place), size=9, colour=FAINT, align="center")

    def draw_tokens(self) -> None:
        """Write the example as the learner sees it below the grid: the tokens of x, then those of y."""
        path = shortest_path(self.obstacles, self.stops[0], self.stops[-1], *self.stops[1:-1])
        lines = (("x", self.obstacles, SLATE), ("y", [cell + OFFSET for cell in path], BLUE))
        for number, (name, tokens, colour) in enumerate(lines):
            y = self.top + SIDE * self.cell + 22 + 17 * number
            self.canvas.text(self.left, y, name, size=11, colour=MUTED, bold=True)
            words = " ".join(map(str, tokens))
            self.canvas.text(self.left + 15, y, words, size=10.5, colour=colour, mono=True)

    def _centre(self, place: int) -> Point:
        row, column = divmod(place, SIDE)
        return self.left + (column + 0.5) * self.cell, self.top + (row + 0.5) * self.cell

    def _draw_blob(self, corner: int) -> None:
        row, column = divmod(corner, SIDE)
        last_row, last_column = divmod(blob(corner)[-1], SIDE)
        width, height = (last_column - column + 1) * self.cell, (last_row - row + 1) * self.cell
        x, y = self.left + column * self.cell + 0.7, self.top + row * self.cell + 0.7
        self.canvas.box(x, y, width - 1.4, height - 1.4, fill=SLATE, edge=FAINT, radius=3, thickness=0.8)

    def _draw_leg(self, path: Sequence[int], colour: str, shift: int) -> None:
        dx, dy = (shift * self.cell * part for part in _APART)
        points = [(x + dx, y + dy) for x, y in map(self._centre, path)]
        self.canvas.line(points, colour, self.cell * 0.09)
        for (x, y), (next_x, next_y) in pairwise(points):
            tip = x + _TIP * (next_x - x), y + _TIP * (next_y - y)
            self.canvas.arrow((x, y), tip, colour, 0.5, head=self.cell * 0.5)
