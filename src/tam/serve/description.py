"""The page at /docs: the OpenAPI schema as plain HTML, which needs no script and no network."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

Schema = Mapping[str, Any]

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin: 2rem 0 0 }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere }
table { border-collapse: collapse; margin: 0.5rem 0 }
td { padding: 0.1rem 1rem 0.1rem 0; vertical-align: top }
"""


def description(schema: Schema) -> str:
    """Render the operations and types of an OpenAPI schema as a page."""
    info = schema["info"]
    operations = [
        "".join(_operation(method, path, operation))
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    kinds = ["".join(_kind(name, kind)) for name, kind in schema["components"]["schemas"].items()]
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])}</title><style>{_STYLE}</style>"
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info['description'])}</p>"
        '<p>For programs: <a href="openapi.json">openapi.json</a>, the same as an OpenAPI schema.</p>'
        f"{''.join(operations)}<h1>Types</h1>{''.join(kinds)}</html>\n"
    )


def _operation(method: str, path: str, operation: Schema) -> Iterator[str]:
    yield _heading(f"{method.upper()} {path}", operation.get("summary", ""))
    rows = [
        (
            one["name"],
            _words(one["schema"]),
            "required" if one.get("required") else escape(one.get("description", "")),
        )
        for one in operation.get("parameters", ())
    ]
    if body := operation.get("requestBody"):
        rows.append(("the body", _content(body), ""))
    for status, answer in operation["responses"].items():
        rows.append((status, _content(answer), escape(answer.get("description", ""))))
    yield _table(rows)


def _kind(name: str, kind: Schema) -> Iterator[str]:
    yield _heading(name, kind.get("description", ""))
    required = kind.get("required", ())
    yield _table(
        [
            (field, _words(of), "required" if field in required else escape(of.get("description", "")))
            for field, of in kind.get("properties", {}).items()
        ]
    )


def _heading(name: str, text: str) -> str:
    return f'<h2 id="{escape(name)}"><code>{escape(name)}</code></h2><p>{escape(text)}</p>'


def _table(rows: list[tuple[str, str, str]]) -> str:
    cells = (f"<tr><td><code>{escape(name)}</code><td>{kind}<td>{more}" for name, kind, more in rows)
    return f"<table>{''.join(cells)}</table>"


def _content(part: Schema) -> str:
    return ", ".join(_words(one.get("schema", {})) for one in part.get("content", {}).values())


def _words(schema: Schema) -> str:
    """A type in words; a named type is a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[-1])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_words(one) for one in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_words(schema['items'])}" if "items" in schema else "list"
    return escape(str(schema.get("type", "")))
