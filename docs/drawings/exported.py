"""Figure of an ONNX file: rows of different tasks in one batch, each with its own task embedding."""

from drawings.canvas import BLUE, INK, LIGHT_BLUE, LIGHT_ORANGE, MUTED, ORANGE, PALE, RULE, Canvas

_ROWS = (("rule A", "2 7 1 8 2", "low"), ("rule B", "2 7 1 8 2", "no"), ("rule A", "9 8 9 6 9", "high"))


def draw() -> Canvas:
    """Three rows of two tasks that go through one file."""
    canvas = Canvas(760, 250)
    canvas.text(24, 30, "One file serves every task: z is an input", size=15, bold=True)
    heads = ((24, "in Python, with torch"), (214, "anywhere, with onnxruntime"))
    for left, words in heads:
        canvas.text(left, 56, words, size=11, colour=MUTED)
    canvas.line([(196, 50), (196, 232)], RULE)
    for place, name in enumerate(("rule A", "rule B")):
        top = 84 + 70 * place
        canvas.box(24, top, 150, 48, fill=PALE, edge=RULE, radius=6)
        canvas.text(99, top + 16, f"tam adapt: {name}", size=11, align="center")
        canvas.text(99, top + 34, "z", size=12, colour=ORANGE, bold=True, align="center")
    canvas.box(470, 84, 120, 118, fill=LIGHT_BLUE, edge=BLUE, radius=8)
    canvas.text(530, 134, "model.onnx", size=13, bold=True, align="center")
    canvas.text(530, 154, "the network θ", size=11, colour=MUTED, align="center")
    for place, (task, x, answer) in enumerate(_ROWS):
        middle = 98 + 45 * place
        canvas.box(214, middle - 14, 92, 28, fill=LIGHT_ORANGE, edge=ORANGE, radius=6)
        canvas.text(260, middle, f"z of {task}", size=11, align="center")
        canvas.box(316, middle - 14, 110, 28, fill=PALE, edge=RULE, radius=6)
        canvas.text(371, middle, f"x = {x}", size=11, align="center")
        canvas.arrow((430, middle), (466, middle), colour=INK)
        canvas.arrow((594, middle), (630, middle), colour=INK)
        canvas.text(640, middle, answer, size=12)
    return canvas
