"""How long training takes: to the paper's quality, and an outer step."""

from blocks.results import Results
from blocks.table import table
from blocks.tam_runs import NOT_RUN
from tam.report.collect import time_to_quality_rows


def time_to_quality(results: Results) -> str:
    """From the start of the process to the paper's TAM, and what an outer step of `best` takes."""
    head, rows = time_to_quality_rows(results)
    for row in rows:
        row[2] = f"**{row[2]}**" if row[2].endswith(" s") else row[2]
    return table(head, rows) if rows else NOT_RUN
