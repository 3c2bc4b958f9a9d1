"""Training times: until TAM is as good as the paper's, and per outer step."""

from blocks.results import Results
from blocks.table import table
from blocks.tam_runs import NOT_RUN
from tam.report.collect import time_to_quality_rows


def time_to_quality(results: Results) -> str:
    """Table of the time until TAM is as good as the paper's, and of an outer step of `best`."""
    head, rows = time_to_quality_rows(results)
    for row in rows:
        row[2] = f"**{row[2]}**" if row[2].endswith(" s") else row[2]
    return table(head, rows) if rows else NOT_RUN
