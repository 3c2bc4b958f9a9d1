"""Whatever the README tells people to type works, and shows what it says."""

import ast
import re
import shlex
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

import tam
from tests.in_process import tam as run_command

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# A full training takes minutes: the same commands with the preset that takes seconds.
README = README.replace("--minutes 5", "--preset smoke").replace('preset="quick"', 'preset="smoke"')


def blocks(*languages: str) -> list[str]:
    return re.findall(rf"^```(?:{'|'.join(languages)})\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands() -> Iterator[list[str]]:
    """The commands of all shell blocks, in their order and without their comments."""
    for block in blocks("bash", "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


def comment_behind(node: ast.stmt, code: str) -> str:
    """The comment that follows a statement on its last line."""
    line = code.splitlines()[(node.end_lineno or 1) - 1]
    behind = line.encode()[node.end_col_offset :].decode().strip()
    return behind.removeprefix("# ") if behind.startswith("# ") else ""


@pytest.mark.timeout(600)
def test_commands_of_tam_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one folder and in their order: one may read what another has written, or the user's own tasks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", StringIO())
    tam.benchmark("classification", train=8, valid=4, test=4, examples=60).write("mine.jsonl")
    for words in commands():
        if words[0] == "tam":
            run_command(*words[1:])


def test_other_commands_are_known() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for words in commands():
        if words[0] == "make":
            assert set(words[1:]) <= targets, shlex.join(words)
        else:
            assert words[0] in ("tam", "cd") or words[:2] == ["git", "clone"], (
                f"nothing checks {shlex.join(words)!r}"
            )


@pytest.mark.timeout(600)
@pytest.mark.parametrize("code", blocks("python"))
def test_python_runs_and_gives_what_the_comments_say(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comment behind an expression that stands alone is its value."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for node in ast.parse(code).body:
        if isinstance(node, ast.Expr) and (comment := comment_behind(node, code)):
            value = eval(compile(ast.Expression(node.value), "README.md", "eval"), names)
            assert repr(value) == comment
        else:
            exec(compile(ast.Module([node], []), "README.md", "exec"), names)
