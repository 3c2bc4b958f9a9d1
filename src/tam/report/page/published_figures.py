"""The charts of the published results."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tam.experiments.jobs import stem
from tam.io import infinite_if_none
from tam.report.collect import BENCHMARKS, ROWS, Facts, Results, estimates_of, gpu_curve
from tam.report.compare import Estimate
from tam.report.curve import TITLES
from tam.report.page.axis import Axis
from tam.report.page.chart import Dot, Point, Series, line_chart, scatter
from tam.report.page.html import Markup, figure, figures
from tam.report.page.scores import against_k, exact, k_axis, point, score_axis
from tam.report.words import SCALE, better_is, score_words

TIMED_K = 10
"""The k of the chart of quality against seconds."""


def quality_series(results: Results, name: str) -> list[Series]:
    """A benchmark's ceiling, the paper's TAM and its best, and ours, against k."""
    metric = results.metric(name)
    ceiling = {k: value for k, value in results.ceiling(name).items() if k in results.shots}
    found = [
        against_k("ceiling", metric, exact(ceiling), "ceiling", ""),
        against_k("paper's best", metric, exact(results.paper_best(name)), "paper-best", "triangle"),
        against_k("paper's TAM", metric, results.paper_estimates(name)["tam"], "paper", "square"),
        against_k("ours", metric, estimates_of(results.headline(name), metric), "ours"),
    ]
    return [one for one in found if one.shown]


def quality_charts(results: Results) -> Markup:
    """Quality against k, a chart for each benchmark."""
    return figures(
        *(
            figure(
                f"{title}: {better_is(results.metric(name))}",
                line_chart(
                    quality_series(results, name),
                    k_axis(results.metric(name), results.shots),
                    score_axis(results.metric(name)),
                    f"{title}: {results.metric(name)} against k, ours beside the paper's and the ceiling",
                ),
            )
            for name, title in BENCHMARKS.items()
        )
    )


def methods_chart(results: Results, table: str, name: str) -> Markup | None:
    """Every method against k on a benchmark; None without runs."""
    metric = results.metric(name)
    series = [
        against_k(_short(what, title), metric, scores, _look(what))
        for what, title, in_paper in ROWS[table]
        for scores in [results.estimates(stem(what, table, name), metric)]
        if in_paper or what in TITLES
    ]
    if not any(one.shown for one in series):
        return None
    ceiling = results.ceiling(name, table == "table2")
    series.append(against_k("ceiling", metric, exact({k: ceiling[k] for k in results.shots}), "ceiling", ""))
    label = f"{BENCHMARKS[name]}: {metric} of every method against k"
    return figure(
        f"{BENCHMARKS[name]}: every method, ours",
        line_chart(series, k_axis(metric, results.shots), score_axis(metric), label),
    )


def _look(what: str) -> str:
    return {"tam-untold": "paper-best"}.get(what, what)


def _short(what: str, title: str) -> str:
    """The name of a method at the end of its line."""
    known = {
        "matching": "matching",
        "prototypical": "prototypical",
        "nearest": "nearest",
        "tam-untold": "TAM, untold",
    }
    return known.get(what, title.lower() if title[1:].islower() else title)


def learning(results: Results, runs: Sequence[Facts], name: str) -> Markup:
    """Validation scores against outer steps, a line for each k; dotted, what the paper's TAM reaches."""
    title, series = BENCHMARKS[name], learning_series(results, runs, name)
    label = f"{title}: validation against outer steps"
    return figure(title, line_chart(series, Axis("outer steps"), score_axis(results.metric(name)), label))


def learning_series(results: Results, runs: Sequence[Facts], name: str) -> list[Series]:
    """For each k, the validations of runs and the test score of the paper's TAM."""
    metric, paper = results.metric(name), results.paper_scores(name)["tam"]
    series = []
    for place, k in enumerate(results.shots):
        if points := list(_mean_curve(runs, metric, k)):
            marker = "" if len(points) > 12 else "circle"
            series.append(Series(f"k = {k}", points, f"k{place}", marker, band=True))
            ends = [Point(p.x, SCALE[metric] * paper[k]) for p in (points[0], points[-1])]
            series.append(Series("", ends, f"k{place} level", ""))
    return series


def _mean_curve(runs: Sequence[Facts], metric: str, k: int) -> Iterator[Point]:
    """The mean over runs at each step that all of them validated, with the standard deviation."""
    curves = [
        {
            one["step"]: infinite_if_none(one["scores"][str(k)][metric])
            for one in run["curve"]
            if str(k) in one["scores"]
        }
        for run in runs
    ]
    for step in sorted(set.intersection(*(set(curve) for curve in curves)) if curves else ()):
        values = [curve[step] for curve in curves]
        mean = statistics.fmean(values)
        error = statistics.stdev(values) if len(values) > 1 and mean < float("inf") else None
        yield point(metric, step, Estimate(mean, error, len(values)), f"step {step}")


def seconds(results: Results, name: str) -> Markup | None:
    """Quality against seconds of training, a line for each method; None without timed runs."""
    metric = results.metric(name)
    series = []
    for what, title, _ in ROWS["table1"]:
        runs = [run for run in results.runs_of(stem(what, "table1", name)) if gpu_curve(run, metric, TIMED_K)]
        if runs and what in TITLES:
            points = [
                point(metric, at, Estimate(value, None, 1), f"{at:.0f} s")
                for at, value in gpu_curve(runs[0], metric, TIMED_K)
            ]
            series.append(Series(_short(what, title), points, _look(what)))
    if not any(one.shown for one in series):
        return None
    ends = [p.x for one in series for p in one.shown]
    goal = results.paper_scores(name)["tam"][TIMED_K]
    words = f"{results.paper['hours'][name]:g} h: {score_words(metric, goal)}"
    level = [Point(x, SCALE[metric] * goal, None, words) for x in (min(ends), max(ends))]
    series.append(Series("paper's TAM", level, "paper", ""))
    label = f"{BENCHMARKS[name]}: validation {metric} at k = {TIMED_K} against seconds of training"
    axis = Axis("GPU-seconds of training", log=True)
    return figure(f"{BENCHMARKS[name]}, k = {TIMED_K}", line_chart(series, axis, score_axis(metric), label))


def sweep(results: Results, runs: Mapping[int, Sequence[Facts]], name: str, axis: str) -> Markup:
    """Scores against the value of a setting, a line for each k."""
    metric = results.metric(name)
    series = []
    for place, k in enumerate(results.shots):
        found = {value: estimates_of(same, metric).get(k) for value, same in runs.items()}
        points = [point(metric, value, one, f"{axis} = {value:g}") for value, one in found.items() if one]
        series.append(Series(f"k = {k}", points, f"k{place}"))
    across = Axis(axis, log=True, ticks=sorted(runs))
    title = f"{BENCHMARKS[name]}: {axis}"
    return figure(title, line_chart(series, across, score_axis(metric), f"{title}, {metric} for each k"))


def embedding_chart(facts: Mapping[str, Any], part: str) -> Markup:
    """The task embeddings of tasks with one start, coloured by the row or the column of their end."""
    dots = [
        Dot(one["x"], one["y"], one[part], f"end in row {one['row']}, column {one['column']}")
        for one in facts["points"]
    ]
    title = f"{TITLES[facts['method']]}: {part} of the end, R² = {facts['r2'][part]:.2f}"
    label = f"Two principal components of {len(dots)} task embeddings, marked by the {part} of the end"
    return figure(title[0].upper() + title[1:], scatter(dots, label))
