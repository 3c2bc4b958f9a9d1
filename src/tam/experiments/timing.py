"""The paper's timing table, from finished runs of Table 1: time to the best model, and its quality."""

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tam.experiments.estimate import duration
from tam.experiments.jobs import BENCHMARKS, SEEDS, SHOTS, TABLE1, shots_of, stem
from tam.experiments.results import Result
from tam.io import infinite_if_none
from tam.tasks.task import metric_of


class Timed(NamedTuple):
    """One method on one benchmark: means over k = 1, 5, 10, 20 as in the paper, and over seeds."""

    model: str
    """Its name in the names of runs."""
    benchmark: str
    metric: str
    quality: float
    """Test score of the weights that validated best: accuracy as a fraction, or perplexity."""
    seconds: float
    """GPU-seconds of training until these weights, without compilation and validation."""
    seeds: int


def timed(results: Mapping[str, Result]) -> list[Timed]:
    """The methods with results at all k for at least one seed, by benchmark; `results` are by name of job."""
    rows = []
    for benchmark in BENCHMARKS:
        for model in TABLE1:
            of_seeds = []
            for seed in SEEDS:
                suffixes = [suffix for suffix, _ in shots_of(model.method, benchmark)]
                names = [f"{stem(model.name, 'table1', benchmark)}{suffix}-{seed}" for suffix in suffixes]
                if names and all(name in results and results[name].get("step_ms") for name in names):
                    of_seeds.append(_best(metric_of(benchmark), [results[name] for name in names]))
            if of_seeds:
                quality, seconds = map(statistics.fmean, zip(*of_seeds, strict=True))
                rows.append(
                    Timed(model.name, benchmark, metric_of(benchmark), quality, seconds, len(of_seeds))
                )
    return rows


def _best(metric: str, runs: Sequence[Result]) -> tuple[float, float]:
    """The mean quality and time of one seed over k, from one run or from a run for each k."""
    scores = [(run, score) for run in runs for score in run["scores"]]
    assert len(scores) == len(SHOTS)
    seconds = [run["best_steps"][str(score["k"])] * run["step_ms"] / 1000 for run, score in scores]
    return statistics.fmean(infinite_if_none(score[metric]) for _, score in scores), statistics.fmean(seconds)


def timing_report(results: Mapping[str, Result]) -> str:
    """The timing table as text."""
    lines = [
        f"{row.model:14}  {row.benchmark:14}  {_quality(row)}, {duration(row.seconds)}"
        for row in timed(results)
    ]
    return "\n".join(lines) or "timing: no run of Table 1 is finished"


def _quality(row: Timed) -> str:
    return f"{100 * row.quality:.1f} %" if row.metric == "accuracy" else f"perplexity {row.quality:.2f}"
