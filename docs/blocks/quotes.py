"""Verbatim quotes: the output of commands, and files of the package."""

from blocks.results import ROOT, Results


def output(results: Results, command: str) -> str:
    """A command and its output."""
    return f"```console\n$ {command}\n{results.tasks['shown'][command].rstrip()}\n```"


def source(path: str) -> str:
    """A file of the package."""
    return f"```python\n{(ROOT / path).read_text(encoding='utf-8')}```"
