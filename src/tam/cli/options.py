"""Settings as command-line options; those left out come from the preset."""

import ast
import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, get_type_hints

import tyro

from tam.config.config import Config, differing
from tam.config.methods import SETTINGS
from tam.config.sections import Network, Protocol, Training

Name = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
Run = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
File = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]


def several(metavar: str, hint: str = "(required)") -> Any:
    """Metadata of a positional argument with one or more values."""
    return tyro.conf.arg(metavar=f"{metavar} [{metavar} ...]", help_behavior_hint=hint)


def optional(metavar: str | None = None, help: str | None = None) -> Any:
    """Metadata of an option without a default to show."""
    return tyro.conf.arg(metavar=metavar, help=help, help_behavior_hint="")


def _docs(section: type) -> dict[str, str]:
    """The docstring of each field of a dataclass and its bases."""
    docs: dict[str, str] = {}
    for part in reversed(section.__mro__[:-1]):
        for line, after in pairwise(_classes(part.__module__)[part.__name__].body):
            text = ast.get_docstring(ast.Module([after], []))
            if text and isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                docs[line.target.id] = " ".join(text.split())
    return docs


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module, parsed once: `inspect.getsource` would parse it again for each class."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _shown(default: object, paper: object) -> str:
    """The default of a setting, and its value in the preset paper if that differs."""
    if default == paper:
        return "" if default is None else f" (default: {_typed(default)})"
    return f" (default: {_typed(default)}; paper: {_typed(paper)})"


def _typed(value: object) -> str:
    """A value as a user types it."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _options(name: str, sections: Mapping[str, type]) -> Any:
    """Make a TypedDict with the fields of these sections, all optional.

    The help of a field has its docstring, its default (in the preset quick) and the paper's value, for each
    section that has the field.
    """
    types: dict[str, Any] = {}
    texts: dict[str, dict[str, list[str]]] = {}
    for label, section in sections.items():
        hints, docs = get_type_hints(section), _docs(section)
        quick, paper = (Config.from_preset(preset, label or "tam").to_json() for preset in ("quick", "paper"))
        changed = differing(quick, paper)
        for f in fields(section):
            types[f.name] = hints[f.name]
            text = docs[f.name] + _shown(*changed.get(f.name, (f.default, f.default)))
            texts.setdefault(f.name, {}).setdefault(text, []).append(label)
    for option, by_text in texts.items():
        parts = (f"{', '.join(labels)}: {text}".removeprefix(": ") for text, labels in by_text.items())
        types[option] = Annotated[types[option], optional(help="; ".join(parts))]
    return TypedDict(name, types, total=False)  # pyright: ignore[reportArgumentType]


if TYPE_CHECKING:
    NetworkOptions = MethodOptions = TrainingOptions = ProtocolOptions = dict[str, Any]
else:
    NetworkOptions = _options("NetworkOptions", {"": Network})
    MethodOptions = _options("MethodOptions", SETTINGS)
    TrainingOptions = _options("TrainingOptions", {"": Training})
    ProtocolOptions = _options("ProtocolOptions", {"": Protocol})
