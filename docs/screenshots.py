"""Take the picture of the playground: `python docs/screenshots.py`.

Needs Chromium and the extras `serve` and `dev`. It starts `tam serve` with a pretrained model, and writes
docs/figures/playground.png.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FIGURE = Path(__file__).parent / "figures" / "playground.png"
STEPS = 6


def take(address: str) -> None:
    """The answers to new inputs, after some examples of a rule."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1180, "height": 850}, color_scheme="light")
        page.set_default_timeout(120_000)
        page.goto(f"{address}/#transduction/teach")
        page.get_by_text("Learned 4 examples").wait_for()
        for step in range(5, 5 + STEPS):
            page.click("#next")
            page.get_by_text(f"Learned {step} examples").wait_for()
        page.mouse.move(0, 0)
        page.screenshot(path=FIGURE, clip={"x": 0, "y": 0, "width": 1180, "height": 940}, full_page=True)
        browser.close()


def main() -> None:
    """Serve, take the picture, and stop."""
    command = [
        sys.executable,
        "-m",
        "tam",
        "serve",
        "classification",
        "transduction",
        "pathfinding",
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(filter(None, (re.search(r"http://[\d.:]+", line) for line in server.stdout)))
            take(address[0])
        finally:
            server.terminate()
    print(f"{FIGURE.name} written, {FIGURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
