"""Figures of the benchmarks, such as `classification().svg()`."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from drawings.canvas import BLUE, CELL, FAINT, GREEN, INK, LIGHT_BLUE, MUTED, PALE, PURPLE, RED, WHITE, Canvas
from drawings.maps import STOP_COLOURS, Map
from tam.tasks.benchmark import HOLDOUTS
from tam.tasks.classification import DROPPED, ClassificationFamily, Subsequences, outputs
from tam.tasks.composition import hold_out
from tam.tasks.family import Family, Recipe
from tam.tasks.integers import INPUTS, LENGTH, VALUES
from tam.tasks.pathfinding import SIDE, PathfindingFamily
from tam.tasks.transduction import TransductionFamily

CLASS_COLOURS = (BLUE, PURPLE, GREEN, RED)
ROW = CELL * LENGTH
MAP_CELL = 25.0

# The tasks in the paper's text and appendix.
LABELLED = ("mul 2", "not greater than 5", "count")
LABELLED_INPUTS = ([3, 10, 6, 4, 7], [7, 1, 9, 4, 11], [0, 8, 2, 5, 10], [1, 6, 0, 11, 2], [2, 0, 9, 1, 0])
TRANSDUCED = ("add 2", "replace 2 with 1", "reverse")
TRANSDUCED_INPUTS = ([0, 5, 0, 3, 6], [11, 4, 0, 8, 1], [7, 0, 10, 2, 9], [3, 6, 11, 5, 0])
STOPS = (70, 14)
LAYOUTS = (
    (39, 78, 51, 9, 31, 63, 44, 69),
    (12, 35, 99, 22, 62, 44, 25, 21),
    (90, 99, 1, 96, 34, 50, 94, 31),
)
WAYPOINT_STOPS = (26, 42, 22)
WAYPOINT_LAYOUTS = (
    (63, 38, 90, 93, 73, 68, 18, 67),
    (95, 60, 95, 70, 23, 34, 83, 85),
    (91, 29, 57, 96, 8, 53, 77, 13),
)


def classification() -> Canvas:
    """One task stage by stage: an input of each class, and one that is discarded."""
    family = ClassificationFamily(5, "classes")
    choice = _choice(family, LABELLED)
    canvas = Canvas(960, 396)
    _title(canvas, "Classification", family.title(choice))
    tops = _rows(
        canvas,
        [
            ("input x", "5 integers from 0 to 11"),
            (LABELLED[0], "every element times 2"),
            (LABELLED[1], "the others are dropped"),
            (LABELLED[2], "how many are left"),
            ("class", "the 4 most frequent, by value"),
        ],
    )
    for column, x in enumerate(LABELLED_INPUTS):
        _classified(canvas, 232 + column * (ROW + 22), tops, family, choice, x)
    canvas.text(28, tops[4] + CELL + 17, "share of all inputs", size=11, colour=MUTED)
    return canvas


def _classified(
    canvas: Canvas,
    left: float,
    tops: Sequence[float],
    family: ClassificationFamily,
    choice: Recipe,
    x: Sequence[int],
) -> None:
    row = np.array([x])
    multiplied = row * 2
    kept = family.tables[choice[:2]][row]
    dropped = (kept[0] == DROPPED).tolist()
    output = int(outputs(LABELLED[2], Subsequences(kept))[0])
    number = int(family.classify(choice, row)[0])
    middle = left + ROW / 2
    for above, below in pairwise(tops[:3]):
        _links(canvas, left, above, below, range(LENGTH))
    for place in np.flatnonzero(~np.array(dropped)):
        start = left + (place + 0.5) * CELL
        canvas.line([(start, tops[2] + CELL + 3), (middle, tops[3] - 3)], FAINT)
    canvas.tokens(left, tops[0], x, fill=LIGHT_BLUE)
    canvas.tokens(left, tops[1], multiplied[0].tolist(), fill=WHITE)
    canvas.tokens(left, tops[2], multiplied[0].tolist(), dropped=dropped, fill=WHITE)
    canvas.tokens(middle - CELL / 2, tops[3], [output], fill=WHITE)
    canvas.arrow((middle, tops[3] + CELL + 3), (middle, tops[4] - 3))
    discarded = number < 0
    words, colour = ("discarded", MUTED) if discarded else (f"class {number}", CLASS_COLOURS[number])
    canvas.chip(middle - 42, tops[4], words, colour, width=84, dashed=discarded)
    rest = INPUTS - int(family.sizes[choice].sum())
    share = (rest if discarded else int(family.sizes[choice][number])) / INPUTS
    canvas.text(middle, tops[4] + CELL + 17, f"{share:.1%}", size=11, colour=MUTED, align="center")


def transduction() -> Canvas:
    """One task stage by stage, on four inputs."""
    family = TransductionFamily()
    choice = _choice(family, TRANSDUCED)
    canvas = Canvas(960, 376)
    _title(canvas, "Transduction", family.title(choice))
    tops = _rows(
        canvas,
        [
            ("input x", "5 integers from 0 to 11"),
            (TRANSDUCED[0], "to every element, modulo 12"),
            (TRANSDUCED[1], "wherever there is a 2"),
            (TRANSDUCED[2], "last element first"),
            ("answer y", "5 integers from 0 to 11"),
        ],
    )
    for column, x in enumerate(TRANSDUCED_INPUTS):
        _transduced(canvas, 252 + column * (ROW + 58), tops, family, choice, x)
    return canvas


def _transduced(
    canvas: Canvas,
    left: float,
    tops: Sequence[float],
    family: TransductionFamily,
    choice: Recipe,
    x: Sequence[int],
) -> None:
    stages = [np.array([x])]
    for rules, place in zip(family.rules, choice, strict=True):
        stages.append(rules[place](stages[-1]))
    straight = range(LENGTH)
    orders = (straight, straight, straight[::-1], straight)
    for (above, below), order in zip(pairwise(tops), orders, strict=True):
        _links(canvas, left, above, below, order)
    wrapped = (stages[0][0] + 2 >= VALUES).tolist()
    replaced = (stages[1][0] != stages[2][0]).tolist()
    canvas.tokens(left, tops[0], x, fill=LIGHT_BLUE)
    canvas.tokens(left, tops[1], stages[1][0].tolist(), marked=wrapped, fill=WHITE)
    canvas.tokens(left, tops[2], stages[2][0].tolist(), marked=replaced, fill=WHITE)
    canvas.tokens(left, tops[3], stages[3][0].tolist(), fill=WHITE)
    canvas.tokens(left, tops[4], stages[3][0].tolist(), fill=LIGHT_BLUE)


def pathfinding() -> Canvas:
    """Three examples of one task."""
    canvas = Canvas(960, 426)
    family = PathfindingFamily(waypoint=False)
    _title(canvas, "Path-finding", family.title(STOPS))
    meaning = "x: the top left cell of every obstacle.  y: the shortest path, cell by cell, plus 100."
    canvas.text(28, 62, f"Every example has other obstacles.  {meaning}", size=11.5, colour=MUTED)
    _maps(canvas, 112, STOPS, LAYOUTS)
    return canvas


def composition() -> Canvas:
    """Three examples of a compositional task, with the primitives that were seen in training."""
    canvas = Canvas(960, 440)
    family = PathfindingFamily(waypoint=True)
    _title(canvas, "Path-finding, compositional", family.title(WAYPOINT_STOPS))
    unseen = _unseen_slot(family, WAYPOINT_STOPS)
    for slot, colour in enumerate(STOP_COLOURS.values()):
        new = slot == unseen
        left = 50 + slot * (SIDE * MAP_CELL + 65)
        canvas.chip(left, 66, family.slots[slot][WAYPOINT_STOPS[slot]], colour, width=104)
        note = "never seen in training" if new else "seen in training"
        canvas.text(left + 114, 66 + CELL / 2, note, size=11, colour=INK if new else MUTED, bold=new)
    _maps(canvas, 126, WAYPOINT_STOPS, WAYPOINT_LAYOUTS)
    return canvas


def benchmarks() -> Canvas:
    """The three benchmarks side by side: examples of a task, and a new input to answer."""
    canvas = Canvas(960, 312)
    for left in (298, 628):
        canvas.line([(left, 28), (left, 284)])
    _labelled_panel(canvas, 28)
    _transduced_panel(canvas, 322)
    _map_panel(canvas, 652)
    return canvas


def _panel_title(canvas: Canvas, left: float, name: str, rule: str) -> None:
    canvas.text(left, 36, name, size=14, bold=True)
    canvas.text(left, 270, "hidden rule", size=10.5, colour=MUTED)
    canvas.text(left, 290, rule, size=10.5, colour=INK, mono=True)


def _labelled_panel(canvas: Canvas, left: float) -> None:
    family = ClassificationFamily(5, "classes")
    choice = _choice(family, LABELLED)
    _panel_title(canvas, left, "Classification", family.title(choice))
    classes = family.classify(choice, np.array(LABELLED_INPUTS)).tolist()
    rows = [*zip(LABELLED_INPUTS[:4], classes[:4], strict=True), ([9, 2, 6, 1, 8], None)]
    for number, (x, label) in enumerate(rows):
        y, right = _example(canvas, left, number, x)
        words, colour = ("?", MUTED) if label is None else (f"class {label}", CLASS_COLOURS[label])
        canvas.chip(right, y, words, colour, width=76, dashed=label is None)


def _transduced_panel(canvas: Canvas, left: float) -> None:
    family = TransductionFamily()
    choice = _choice(family, TRANSDUCED)
    _panel_title(canvas, left, "Transduction", family.title(choice))
    answers = family.answer(choice, np.array(TRANSDUCED_INPUTS)).tolist()
    rows = [*zip(TRANSDUCED_INPUTS, answers, strict=True), ([4, 9, 0, 7, 2], None)]
    for number, (x, answer) in enumerate(rows):
        y, right = _example(canvas, left, number, x)
        if answer is None:
            canvas.chip(right, y, "?", MUTED, width=ROW, dashed=True)
        else:
            canvas.tokens(right, y, answer, fill=LIGHT_BLUE)


def _example(canvas: Canvas, left: float, number: int, x: Sequence[int]) -> tuple[float, float]:
    """Draw an input and an arrow to its answer; return the top and left of the answer."""
    y = 64 + 38 * number
    canvas.tokens(left, y, x, fill=LIGHT_BLUE)
    canvas.arrow((left + ROW + 10, y + CELL / 2), (left + ROW + 34, y + CELL / 2))
    return y, left + ROW + 44


def _map_panel(canvas: Canvas, left: float) -> None:
    _panel_title(canvas, left, "Path-finding", PathfindingFamily(waypoint=False).title(STOPS))
    cell, middle = 13.0, 216 + CELL / 2
    for number, obstacles in enumerate(LAYOUTS[:2]):
        Map(canvas, left + number * 150, 64, cell, obstacles, STOPS).draw(solved=number == 0)
    canvas.text(left + 5 * cell, middle, "shortest path", size=11, colour=BLUE, bold=True, align="center")
    canvas.chip(left + 150, 216, "?", MUTED, width=SIDE * cell, dashed=True)


FIGURES: dict[str, Callable[[], Canvas]] = {
    "classification": classification,
    "transduction": transduction,
    "pathfinding": pathfinding,
    "composition": composition,
    "benchmarks": benchmarks,
}
"""The figures, by file name."""


def _choice(family: Family, names: Sequence[str]) -> Recipe:
    return tuple(slot.index(name) for slot, name in zip(family.slots, names, strict=True))


def _unseen_slot(family: Family, choice: Recipe) -> int:
    """The slot of the task's unseen primitive, in the first hold-out where it has exactly one."""
    for holdout in range(HOLDOUTS):
        unseen = hold_out(family, 0, holdout).unseen
        slots = [slot for slot, place in enumerate(choice) if place in unseen[slot]]
        if len(slots) == 1:
            return slots[0]
    raise ValueError(f"{family.title(choice)} must have exactly one unseen primitive in some hold-out")


def _title(canvas: Canvas, benchmark: str, task: str) -> None:
    canvas.text(28, 32, benchmark, size=15, bold=True)
    canvas.text(932, 32, task, size=12.5, colour=INK, mono=True, align="right")


def _rows(canvas: Canvas, labels: Sequence[tuple[str, str]]) -> list[float]:
    """Label the stages on the left; a grey band marks those hidden from the learner."""
    tops = [66.0 + 64 * number for number in range(len(labels))]
    band = tops[1:-1]
    height = band[-1] - band[0] + CELL
    canvas.box(14, band[0] - 18, 932, height + 36, fill=PALE, radius=6)
    middle = band[0] + height / 2
    canvas.text(935, middle, "hidden from the learner", size=10, colour=MUTED, align="center", upward=True)
    for top, (name, meaning) in zip(tops, labels, strict=True):
        canvas.text(28, top + 5, name, size=12, bold=True)
        canvas.text(28, top + 22, meaning, size=11, colour=MUTED)
    return tops


def _links(canvas: Canvas, left: float, above: float, below: float, order: Sequence[int]) -> None:
    """Draw lines from the cells of a row to their places in the next one."""
    for place, target in enumerate(order):
        start, end = (left + (each + 0.5) * CELL for each in (place, target))
        canvas.line([(start, above + CELL + 3), (end, below - 3)], FAINT)


def _maps(canvas: Canvas, top: float, stops: Sequence[int], layouts: Sequence[Sequence[int]]) -> None:
    for number, obstacles in enumerate(layouts):
        drawn = Map(canvas, 50 + number * (SIDE * MAP_CELL + 65), top, MAP_CELL, obstacles, stops)
        drawn.draw_axes()
        drawn.draw()
        drawn.draw_tokens()
