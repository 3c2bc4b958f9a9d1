"""Imports go one way: a module imports what stands before it in this list, never what stands after it."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "src" / "tam"
ORDER = (
    *("errors", "io", "provenance", "config", "tasks", "models", "methods", "evaluation", "training"),
    *("pretrained", "learner", "store", "serve", "experiments", "report", "cli"),
)


def imported(file: Path) -> set[str]:
    """The parts of tam that a file imports anywhere: an import inside a function hides a cycle."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tam."):
            found.add((node.module or "").split(".")[1])
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[1] for name in node.names if name.name.startswith("tam.")}
    return found


def test_no_import_goes_against_the_order() -> None:
    files = [file for file in ROOT.rglob("*.py") if file.parent != ROOT or file.stem in ORDER]
    assert len(files) > 80
    for file in files:
        own = file.relative_to(ROOT).parts[0].removesuffix(".py")
        later = {part for part in imported(file) if ORDER.index(part) > ORDER.index(own)}
        assert not later, f"{file} imports {sorted(later)}"
