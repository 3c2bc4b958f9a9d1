"""Take screenshots of the browser and the terminal: `python docs/screenshots.py [NAME…]`.

Needs Chromium and the extras `serve` and `dev`. It serves the pretrained models for playground.png and
store.png, and runs the demo for demo.svg, all in docs/figures. This takes a few minutes on two cores.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from io import StringIO
from itertools import product
from pathlib import Path

import httpx
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.text import Text

from tam.tasks.pathfinding import SIDE, PathfindingFamily
from tam.tasks.rng import Rng
from tam.tasks.task import Task

FIGURES = Path(__file__).parent / "figures"
WIDTH = 1180
PLACES = (0, 2, 5, 7, 9)
SECONDS = 600


def playground(page: Page, address: str) -> None:
    """The answers to new inputs, after ten examples of a rule."""
    page.goto(f"{address}/#transduction/teach")
    page.get_by_text("Learned 4 examples").wait_for()
    for count in range(5, 11):
        page.click("#next")
        page.get_by_text(f"Learned {count} examples").wait_for()
    _shoot(page, "playground", 940)


def store(page: Page, address: str) -> None:
    """The map of a store: path-finding from (4,4) to cells all over the grid, each from 8 examples."""
    family = PathfindingFamily(waypoint=False)
    for row, column in product(PLACES, PLACES):
        recipe = (4 * SIDE + 4, row * SIDE + column)
        task = Task("", family.vocabulary, *family.examples(recipe, 8, Rng("store", *recipe)))
        examples = [{"x": list(x), "y": y} for x, y in task]
        body = {"model": "pathfinding", "name": f"to {row},{column}", "examples": examples, "searches": 2}
        httpx.post(f"{address}/tasks", json=body, timeout=SECONDS).raise_for_status()
    page.goto(f"{address}/#pathfinding/map")
    page.get_by_role("option", name="to 2,7").click()
    page.get_by_role("heading", name="Nearest tasks").wait_for()
    _shoot(page, "store", 900)


def demo() -> None:
    """A demo that is not interactive, as a terminal shows it."""
    command = ["tam", "demo", "classification", "--examples", "examples.jsonl"]
    known = {"31415": "low", "99897": "high", "12031": "low", "87996": "high", "02110": "low"}
    rows = [{"x": [*map(int, x)], "y": y} for x, y in known.items()]
    lines = [json.dumps(row) for row in (*rows, {"x": [2, 0, 1, 1, 3]}, {"x": [9, 8, 9, 6, 9]})]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples.jsonl").write_text("\n".join(lines), encoding="utf-8")
        words = [sys.executable, "-m", *command]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    console = Console(record=True, width=100, file=StringIO())
    shown = "\n".join(["$ cat examples.jsonl", *lines, f"$ {' '.join(command)}"])
    console.print(Text(shown), Text.from_ansi(done.stdout.strip()), sep="\n")
    drawn = console.export_svg(title="tam demo")
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)  # fonts would be fetched from a server
    (FIGURES / "demo.svg").write_text(drawn, encoding="utf-8")


IN_A_BROWSER = {"playground": playground, "store": store}


def _shoot(page: Page, name: str, height: int) -> None:
    page.mouse.move(0, 0)
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height}
    page.screenshot(path=FIGURES / f"{name}.png", clip=clip, full_page=True)  # pyright: ignore[reportArgumentType]


@contextmanager
def _server() -> Generator[str]:
    """Serve the pretrained models; yield the address."""
    models = ("classification", "transduction", "pathfinding")
    command = [sys.executable, "-m", "tam", "serve", *models, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(filter(None, (re.search(r"http://[\d.:]+", line) for line in server.stdout)))
            yield address[0]
        finally:
            server.terminate()


def main(names: list[str]) -> None:
    chosen = names or [*IN_A_BROWSER, "demo"]
    if "demo" in chosen:
        demo()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    if in_browser := [name for name in chosen if name in IN_A_BROWSER]:
        with _server() as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": WIDTH, "height": 850}, color_scheme="light")
            page.set_default_timeout(1000 * SECONDS)
            for name in in_browser:
                IN_A_BROWSER[name](page, address)
            browser.close()
    print(f"written to {FIGURES}: {', '.join(chosen)}")


if __name__ == "__main__":
    main(sys.argv[1:])
