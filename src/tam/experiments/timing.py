"""The paper's timing table, from finished runs of Table 1: how soon the best model is there, and how good."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tam.experiments.estimate import duration
from tam.experiments.jobs import BENCHMARKS, SEEDS, SHOTS, TABLE1, shots_of, stem, table1
from tam.experiments.results import Places, Result, result_of
from tam.io import infinite_if_none
from tam.tasks.task import metric_of


class Timed(NamedTuple):
    """One method on one benchmark: means over k = 1, 5, 10, 20 as in the paper, and over seeds."""

    model: str
    """As in the names of runs."""
    benchmark: str
    metric: str
    quality: float
    """On the test tasks, of the weights that validated best: accuracy as a fraction, or perplexity."""
    seconds: float
    """GPU-seconds of training until these weights, without compiling and validation."""
    seeds: int


def timed(places: Places) -> list[Timed]:
    """The methods of Table 1 whose runs at all k are finished, for at least one seed, by benchmark."""
    found = {job.name: result for job in table1() if (result := result_of(job, places)) is not None}
    rows = []
    for benchmark in BENCHMARKS:
        for model in TABLE1:
            of_seeds = []
            for seed in SEEDS:
                suffixes = [suffix for suffix, _ in shots_of(model.method, benchmark)]
                runs = stem(model.name, "table1", benchmark)
                names = [f"{runs}{suffix}-{seed}" for suffix in suffixes]
                if names and all(name in found and found[name].get("step_ms") for name in names):
                    of_seeds.append(_best(metric_of(benchmark), [found[name] for name in names]))
            if of_seeds:
                quality, seconds = (statistics.fmean(column) for column in zip(*of_seeds, strict=True))
                rows.append(
                    Timed(model.name, benchmark, metric_of(benchmark), quality, seconds, len(of_seeds))
                )
    return rows


def _best(metric: str, runs: Sequence[Result]) -> tuple[float, float]:
    """The mean quality and time over k of one seed: of one run, or of a run for each k."""
    quality, seconds = [], []
    for run in runs:
        for score in run["scores"]:
            quality.append(infinite_if_none(score[metric]))
            seconds.append(_seconds_at(run, run["best_steps"][str(score["k"])]))
    assert len(quality) == len(SHOTS)
    return statistics.fmean(quality), statistics.fmean(seconds)


def _seconds_at(run: Mapping[str, Any], step: int) -> float:
    return step * run["step_ms"] / 1000


def timing_report(places: Places) -> str:
    """The timing table as text."""
    rows = timed(places)
    if not rows:
        return "timing: no run of Table 1 is finished"
    cells = {(row.model, row.benchmark): row for row in rows}
    models = dict.fromkeys(row.model for row in rows)
    lines = [
        ["", *(f"{name}: {metric_of(name)}, time" for name in BENCHMARKS)],
        *([model, *(_cell(cells.get((model, name))) for name in BENCHMARKS)] for model in models),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in shown)


def _cell(row: Timed | None) -> str:
    if row is None:
        return "–"
    if math.isinf(row.quality):
        quality = "infinite"
    else:
        quality = f"{100 * row.quality:.1f} %" if row.metric == "accuracy" else f"{row.quality:.2f}"
    return f"{quality}, {duration(row.seconds)}"
