"""Rows per second of the server, and of one that answers one row at a time, from results/serve.json."""

from collections.abc import Mapping
from typing import Any

from drawings.canvas import BLUE, FAINT, MUTED, Canvas
from tam.report.words import number

_TITLES = {"small": "2 blocks of width 64", "pretrained": "The pretrained model for classification"}
_SERVERS = {"tam serve": BLUE, "one row at a time": FAINT}
_LEFT, _LONGEST = 190.0, 420.0


def draw(facts: Mapping[str, Any]) -> Canvas:
    """Bars of both servers for each model, scaled to the faster one."""
    canvas = Canvas(760, 230)
    title = f"Rows answered per second, {facts['clients']} clients, {facts['cores']} cores"
    canvas.text(24, 30, title, size=15, bold=True)
    top = 66.0
    for name, compared in facts["models"].items():
        canvas.text(24, top, _TITLES[name], size=12, colour=MUTED)
        canvas.text(736, top, f"{compared['ratio']:.1f} times as many", size=12, colour=BLUE, align="right")
        most = max(compared["servers"][server]["rows_a_second"] for server in _SERVERS)
        for place, (server, colour) in enumerate(_SERVERS.items()):
            rate, middle = compared["servers"][server]["rows_a_second"], top + 22 + 22 * place
            canvas.text(_LEFT - 12, middle, server, size=12, align="right")
            canvas.box(_LEFT, middle - 8, max(2.0, _LONGEST * rate / most), 16, fill=colour, edge=colour)
            canvas.text(_LEFT + _LONGEST * rate / most + 10, middle, number(round(rate)), size=12)
        top += 82
    return canvas
