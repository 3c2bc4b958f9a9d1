"""Count the cells of the tables where ours is better than the paper, within error, or worse."""

from blocks.results import BENCHMARKS, Results
from blocks.tam_runs import NOT_RUN
from tam.report.collect import ROWS
from tam.report.compare import Verdict, count_verdicts
from tam.report.words import in_prose

_TABLES = {"table1": "Table 1, every method", "table2": "Table 2, compositional tasks"}


def conclusions(results: Results) -> str:
    """One line per comparison with the paper."""
    lines = [f"- **TAM with our settings** against the paper's TAM: {_counts(results.headline_verdicts())}."]
    for table, title in _TABLES.items():
        found = list(results.verdicts(table))
        words = _counts([each for *_, each in found])
        worse = _worse(results, table)
        lines.append(f"- **{title}** against the same method in the paper: {words}.{worse}")
    return "\n".join(lines) if results.runs else NOT_RUN


def _counts(verdicts: list[Verdict]) -> str:
    counts = count_verdicts(verdicts)
    if counts["missing"] == len(verdicts):
        return f"none of its {len(verdicts)} cells is run yet"
    parts = [f"{count} {each}" for each, count in counts.items() if count]
    return f"of {len(verdicts)} cells, {in_prose(parts)}"


def _worse(results: Results, table: str) -> str:
    """List the cells that are worse, by method and benchmark."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, method, k, each in results.verdicts(table):
        if each == "worse":
            found.setdefault((method, name), []).append(str(k))
    if not found:
        return ""
    order = [title for _, title, _ in ROWS[table]]
    by_method = sorted(found.items(), key=lambda one: order.index(one[0][0]))
    parts = [
        f"{method}, {BENCHMARKS[name].lower()} at k = {in_prose(ks)}" for (method, name), ks in by_method
    ]
    return f" Worse: {'; '.join(parts)}."
