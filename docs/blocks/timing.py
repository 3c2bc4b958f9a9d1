"""How long training takes: to the paper's quality, and an outer step."""

from blocks.results import BENCHMARKS, Facts, Results
from blocks.table import table
from blocks.tam_runs import NOT_RUN
from tam.report.words import number


def time_to_quality(results: Results) -> str:
    """From the start of the process to the paper's TAM, and what an outer step of `best` takes."""
    rows = []
    for name, title in BENCHMARKS.items():
        timed = results.runs.get(f"tam-time-{name}-0")
        best = results.runs.get(f"tam-best-{name}-0")
        if timed is None and best is None:
            continue
        hours = f"{results.paper['hours'][name]:g} h"
        rows.append([title, hours, *_timed_cells(timed), *_step_cells(best or timed)])
    if not rows:
        return NOT_RUN
    head = ["", "the paper's TAM", "ours", "of it before the first outer step", "ms an outer step", "steps/s"]
    return table(head, rows)


def _timed_cells(run: Facts | None) -> list[str]:
    if run is None:
        return ["–", "–"]
    reached = run["seconds_to_paper"]
    words = "not reached" if reached is None else f"**{reached:.0f} s**"
    return [words, f"{run['first_step_seconds']:.1f} s"]


def _step_cells(run: Facts | None) -> list[str]:
    if run is None or not run["step_ms"]:
        return ["–", "–"]
    return [f"{run['step_ms']:.2f}", number(round(1000 / run["step_ms"]))]
