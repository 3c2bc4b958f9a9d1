"""A white card to draw on, measured in pixels from its top left corner."""

from collections.abc import Sequence
from io import StringIO
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Patch

Point = tuple[float, float]
Align = Literal["left", "center", "right"]

INK, MUTED, FAINT, RULE, PALE, WHITE = "#1f2937", "#667085", "#9aa4b2", "#d5dae1", "#f3f5f8", "#ffffff"
BLUE, ORANGE, GREEN, RED, PURPLE, SLATE = "#1f6fb2", "#c67c00", "#0b8f6a", "#d1495b", "#8a5aa8", "#55606f"
LIGHT_BLUE, LIGHT_ORANGE = "#dbeafa", "#fdedc8"

CELL = 24.0
_PIXELS_PER_INCH = 72


class Canvas:
    """A figure of a fixed size, legible on light and dark pages."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width / _PIXELS_PER_INCH, height / _PIXELS_PER_INCH))
        self.figure.patch.set_alpha(0)
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, width), ylim=(height, 0))
        self.axes.axis("off")
        self.box(1, 1, width - 2, height - 2, fill=WHITE, edge=RULE, radius=10)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 12,
        colour: str = INK,
        bold: bool = False,
        mono: bool = False,
        align: Align = "left",
        upward: bool = False,
    ) -> None:
        """Draw one line of text, centred on `y`; with `upward`, it reads from bottom to top."""
        self.axes.text(
            x,
            y,
            words,
            size=size,
            color=colour,
            weight="bold" if bold else "normal",
            family="DejaVu Sans Mono" if mono else "DejaVu Sans",
            ha=align,
            va="center" if upward else "center_baseline",
            rotation=90 if upward else 0,
            parse_math=False,
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = "none",
        edge: str = "none",
        radius: float = 4,
        thickness: float = 1,
        dashed: bool = False,
    ) -> None:
        """Draw a rectangle with round corners."""
        style = f"round,pad=0,rounding_size={radius}"
        look: dict[str, Any] = {"facecolor": fill, "edgecolor": edge, "linewidth": thickness}
        dashes = (0, (3, 2)) if dashed else "-"
        self._add(FancyBboxPatch((x, y), width, height, boxstyle=style, linestyle=dashes, **look))

    def circle(self, x: float, y: float, radius: float, fill: str) -> None:
        self._add(Circle((x, y), radius, facecolor=fill, edgecolor=WHITE, linewidth=1.2))

    def line(self, points: Sequence[Point], colour: str = RULE, width: float = 1) -> None:
        look: dict[str, Any] = {"solid_capstyle": "round", "solid_joinstyle": "round", "zorder": 1}
        self.axes.plot(*zip(*points, strict=True), color=colour, linewidth=width, **look)

    def arrow(
        self, start: Point, end: Point, colour: str = MUTED, width: float = 1.4, head: float = 9
    ) -> None:
        look: dict[str, Any] = {"color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0}
        self._add(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=head, **look))

    def tokens(
        self,
        x: float,
        y: float,
        values: Sequence[int],
        *,
        dropped: Sequence[bool] = (),
        marked: Sequence[bool] = (),
        fill: str = PALE,
    ) -> None:
        """Draw numbers in cells, the top left at (x, y); fade dropped ones and highlight marked ones."""
        for place, value in enumerate(values):
            gone = bool(dropped) and dropped[place]
            colour = LIGHT_ORANGE if marked and marked[place] else fill
            look: dict[str, Any] = {"fill": WHITE if gone else colour, "edge": RULE if gone else FAINT}
            left = x + place * CELL
            self.box(left + 1, y, CELL - 2, CELL, radius=3, dashed=gone, **look)
            self.text(left + CELL / 2, y + CELL / 2, str(value), colour=RULE if gone else INK, align="center")

    def chip(
        self, x: float, y: float, words: str, colour: str, *, width: float, dashed: bool = False
    ) -> None:
        """Draw a label as high as a cell, top left corner at (x, y), filled or with a dashed outline."""
        fill = "none" if dashed else colour
        self.box(x, y, width, CELL, fill=fill, edge=colour, radius=CELL / 2, thickness=1.3, dashed=dashed)
        ink = colour if dashed else WHITE
        self.text(x + width / 2, y + CELL / 2, words, size=11, colour=ink, bold=True, align="center")

    def svg(self) -> str:
        """The figure as reproducible SVG."""
        file = StringIO()
        with rc_context({"svg.hashsalt": "tam", "svg.fonttype": "path", "path.simplify": False}):
            self.figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        return file.getvalue()

    def _add(self, patch: Patch) -> None:
        self.axes.add_patch(patch)
        patch.set_zorder(1)
