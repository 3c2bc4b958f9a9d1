"""Tables in Markdown."""

from collections.abc import Collection, Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Make a table; columns are right-aligned, except those whose numbers are in `left`."""
    rule = ["---" if place in left else "---:" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
