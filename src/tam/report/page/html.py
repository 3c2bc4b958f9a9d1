"""HTML and SVG elements; text is escaped unless it is `Markup`."""

from collections.abc import Iterable
from html import escape
from importlib.resources import files


class Markup(str):
    """Text that needs no escaping."""

    __slots__ = ()


_VOID = {"meta", "br", "hr"}


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Make an element. In attribute names, a final `_` is dropped and any other `_` becomes a hyphen.

    >>> tag("p", "a < b", tag("b", "c"), title='"', class_="note")
    '<p title="&quot;" class="note">a &lt; b<b>c</b></p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_attribute(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>" if name in _VOID else f"<{name}{given}>{join(children)}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Join parts, escaping those that are not `Markup`."""
    separator = between if isinstance(between, Markup) else escape(between)
    return Markup(separator.join(str(part) if isinstance(part, Markup) else escape(part) for part in parts))


def _attribute(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def section(anchor: str, title: str, *children: str) -> Markup:
    """A section of the page with a heading."""
    return tag("section", tag("h2", title), *children, id=anchor)


def paragraph(*children: str, class_: str | None = None) -> Markup:
    """A paragraph."""
    return tag("p", *children, class_=class_)


def made_by(*commands: str) -> Markup:
    """The commands that make the content above; one click selects a command."""
    lines = join([tag("code", command) for command in commands], Markup("<br>"))
    return tag("p", tag("span", "Made by "), lines, class_="made")


def missing(what: str) -> Markup:
    """A note that something was not run yet."""
    return tag("p", tag("b", "Missing."), f" {what}", class_="missing")


def html_table(
    head: Iterable[str], rows: Iterable[Iterable[str]], label: str, class_: str | None = None
) -> Markup:
    """A table in a box that scrolls if the table is too wide; the first cell of each row is its head."""
    heads = [tag("th", cell, scope="col") for cell in head]
    body = []
    for first, *rest in rows:
        body.append(tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in rest)))
    inner = tag(
        "table", tag("caption", label), tag("thead", tag("tr", *heads)), tag("tbody", *body), class_=class_
    )
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=label)


def figures(*charts: str) -> Markup:
    """Charts side by side, or stacked on a narrow screen."""
    return tag("div", *charts, class_="figures")


def figure(title: str, chart: str) -> Markup:
    """A chart with its title."""
    return tag("figure", tag("figcaption", title), chart)


def style(name: str) -> str:
    """Read a CSS file: `chart` for charts, `page` for the rest."""
    return files("tam.report.page").joinpath(f"{name}.css").read_text(encoding="utf-8")


def page(title: str, header: str, sections: Iterable[str], made: str) -> str:
    """A whole document, whose security policy forbids loading anything."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("title", title),
        tag("style", Markup(style("chart") + style("page"))),
    )
    footer = tag("footer", f"{made} This page loads nothing and runs no script.")
    body = tag("body", header, tag("main", *sections), footer)
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"
