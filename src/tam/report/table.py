"""Tables as aligned plain text."""

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Align columns, numbers to the right.

    >>> print(table(["k", "accuracy"], [[1, "43.0 %"], [10, "89.5 %"]]))
     k  accuracy
     1  43.0 %
    10  89.5 %
    """
    body = [[str(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    columns = zip(*rows, strict=True) if rows else ((),) * len(head)
    numeric = [all(isinstance(value, int | float) for value in column) for column in columns]

    def line(values: Sequence[str]) -> str:
        parts = zip(values, widths, numeric, strict=True)
        return "  ".join(v.rjust(w) if right else v.ljust(w) for v, w, right in parts).rstrip()

    return "\n".join(map(line, [list(head), *body]))
