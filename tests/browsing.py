"""A page in a browser, with what it asked of the network and what went wrong."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

PHONE = 390


@contextmanager
def watched(browser: Browser, address: str, *, width: int = 1280, dark: bool = False) -> Generator[Page]:
    """A page that must ask for nothing outside of an address, and log no error."""
    context = browser.new_context(
        base_url=address, viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
    )
    page = context.new_page()
    wrong: list[str] = []
    page.on("request", lambda one: None if one.url.startswith(address) else wrong.append(one.url))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    try:
        yield page
        assert wrong == []
    finally:
        context.close()


@contextmanager
def visit(browser: Browser, file: Path, *, width: int = 1280, dark: bool = False) -> Generator[Page]:
    """Open a file, which must ask for nothing else."""
    with watched(browser, file.as_uri(), width=width, dark=dark) as page:
        page.goto(file.as_uri())
        yield page


def too_wide(page: Page) -> list[str]:
    """What sticks out of the window to the right, apart from what scrolls in a box of its own."""
    if page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"):
        return []
    return page.evaluate(
        """[...document.querySelectorAll("body *")]
             .filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > window.innerWidth + 1)
             .map(e => e.outerHTML.slice(0, 100))"""
    )


def brightness(page: Page, what: str) -> float:
    """How bright the colour (`color`, `backgroundColor`) of the page is, from 0 to 1."""
    colour: str = page.evaluate(f"getComputedStyle(document.documentElement).{what}")
    red, green, blue = (int(part) for part in colour.strip("rgb()").split(","))
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def small_figures(page: Page) -> list[str]:
    """The figures that cannot be seen."""
    return page.evaluate(
        """[...document.querySelectorAll("svg.chart")].filter(svg => {
             const box = svg.getBoundingClientRect();
             const marks = [...svg.querySelectorAll(".line, .mark, .dot")].filter(e => {
               const r = e.getBoundingClientRect(); return r.width + r.height > 1});
             return box.width < 150 || box.height < 100 || marks.length == 0 ||
               !svg.getAttribute("aria-label");
           }).map(svg => svg.getAttribute("aria-label"))"""
    )


def cells(page: Page, label: str) -> dict[str, list[str]]:
    """The words of the table of this name, by the head of each row."""
    rows: list[list[str]] = page.evaluate(
        """label => [...document.querySelector(`[aria-label="${label}"]`).querySelectorAll("tbody tr")]
             .map(row => [...row.children].map(cell => cell.innerText.replaceAll("\\n", " | ")))""",
        label,
    )
    return {head: others for head, *others in rows}


def chips(page: Page) -> dict[str, Any]:
    """How often each verdict is in the tables."""
    return page.evaluate(
        """Object.fromEntries(["better", "within", "worse", "missing"].map(
             name => [name, document.querySelectorAll(`td .chip.${name}`).length]))"""
    )
