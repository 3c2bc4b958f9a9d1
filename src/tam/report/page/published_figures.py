"""Charts of the published results."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tam.experiments.jobs import stem
from tam.io import infinite_if_none
from tam.report.collect import BENCHMARK_TITLES, ROWS, Facts, Results, estimates_of
from tam.report.compare import Estimate, estimate
from tam.report.curve import TITLES
from tam.report.page.axis import Axis
from tam.report.page.chart import Dot, Point, Series, line_chart, scatter
from tam.report.page.html import Markup, figure, figures
from tam.report.page.scores import against_k, exact, k_axis, point, score_axis
from tam.report.words import SCALE, better_is, capitalised, score_words

TIMED_K = 10
"""The k of the chart of quality against seconds."""


def quality_series(results: Results, name: str) -> list[Series]:
    """Lines against k: the ceiling of a benchmark, the paper's best, the paper's TAM, and ours."""
    metric = results.metric(name)
    ceiling = {k: value for k, value in results.ceiling(name).items() if k in results.shots}
    series = [
        against_k("ceiling", metric, exact(ceiling), "ceiling", ""),
        against_k("paper's best", metric, exact(results.paper_best(name)), "paper-best", "triangle"),
        against_k("paper's TAM", metric, results.paper_estimates(name)["tam"], "paper", "square"),
        against_k("ours", metric, estimates_of(results.headline(name), metric), "ours"),
    ]
    return [one for one in series if one.shown]


def quality_charts(results: Results) -> Markup:
    """Quality against k, one chart per benchmark."""
    charts = []
    for name, title in BENCHMARK_TITLES.items():
        metric, series = results.metric(name), quality_series(results, name)
        label = f"{title}: {metric} against k, ours beside the paper's and the ceiling"
        chart = line_chart(series, k_axis(metric, results.shots), score_axis(metric), label)
        charts.append(figure(f"{title}: {better_is(metric)}", chart))
    return figures(*charts)


def methods_chart(results: Results, table: str, name: str) -> Markup | None:
    """Every method's score against k on a benchmark; None without runs."""
    metric, title = results.metric(name), BENCHMARK_TITLES[name]
    series = [
        against_k(_short(what, shown), metric, estimates_of(runs, metric), _look(what))
        for what, shown, in_paper in ROWS[table]
        for runs in [results.runs_of(stem(what, table, name))]
        if in_paper or what in TITLES
    ]
    if not any(one.shown for one in series):
        return None
    ceiling = {k: results.ceiling(name, table == "table2")[k] for k in results.shots}
    series.append(against_k("ceiling", metric, exact(ceiling), "ceiling", ""))
    label = f"{title}: {metric} of every method against k"
    chart = line_chart(series, k_axis(metric, results.shots), score_axis(metric), label)
    return figure(f"{title}: every method, ours", chart)


def _look(what: str) -> str:
    return "paper-best" if what == "tam-untold" else what


def _short(what: str, title: str) -> str:
    """The name of a method at the end of its line."""
    if what == "tam-untold":
        return "TAM, untold"
    return title.lower().split()[0] if title[1:].islower() else title


def learning(results: Results, runs: Sequence[Facts], name: str) -> Markup:
    """Validation scores against outer steps, one line per k; dotted, the test scores of the paper's TAM."""
    title, series = BENCHMARK_TITLES[name], learning_series(results, runs, name)
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
    """The mean over runs, with the standard deviation, at each step where all of them were validated."""
    curves = [
        {one["step"]: one["scores"][str(k)] for one in run["curve"] if str(k) in one["scores"]}
        for run in runs
    ]
    for step in sorted(set.intersection(*map(set, curves)) if curves else ()):
        found = estimate(metric, [curve[step] | {f"{metric}_interval": None} for curve in curves])
        yield point(metric, step, found, f"step {step}")


def seconds(results: Results, name: str) -> Markup | None:
    """Quality against seconds of training, one line per method; None without timed runs."""
    metric, title = results.metric(name), BENCHMARK_TITLES[name]
    series = []
    for what, shown, _ in ROWS["table1"]:
        curves = [list(_timed_curve(run, metric)) for run in results.runs_of(stem(what, "table1", name))]
        points = next(filter(None, curves), [])
        if points and what in TITLES:
            series.append(Series(_short(what, shown), points, _look(what)))
    if not any(one.shown for one in series):
        return None
    ends = [p.x for one in series for p in one.shown]
    goal = results.paper_scores(name)["tam"][TIMED_K]
    words = f"{results.paper['hours'][name]:g} h: {score_words(metric, goal)}"
    level = [Point(x, SCALE[metric] * goal, None, words) for x in (min(ends), max(ends))]
    series.append(Series("paper's TAM", level, "paper", ""))
    label = f"{title}: validation {metric} at k = {TIMED_K} against seconds of training"
    axis = Axis("GPU-seconds of training", log=True)
    return figure(f"{title}, k = {TIMED_K}", line_chart(series, axis, score_axis(metric), label))


def _timed_curve(run: Facts, metric: str) -> Iterator[Point]:
    """A run's validations against its seconds of training alone on the GPU, if it is timed."""
    for one in run["curve"] if run.get("step_ms") else ():
        if (score := one["scores"].get(str(TIMED_K))) is not None:
            at, value = one["step"] * run["step_ms"] / 1000, infinite_if_none(score[metric])
            yield point(metric, at, Estimate(value, None, 1), f"{at:.0f} s")


def sweep(results: Results, runs: Mapping[int, Sequence[Facts]], name: str, axis: str) -> Markup:
    """Scores against the value of a setting, one line per k."""
    metric = results.metric(name)
    series = []
    for place, k in enumerate(results.shots):
        found = {value: estimates_of(same, metric).get(k) for value, same in runs.items()}
        points = [point(metric, value, one, f"{axis} = {value:g}") for value, one in found.items() if one]
        series.append(Series(f"k = {k}", points, f"k{place}"))
    across = Axis(axis, log=True, ticks=sorted(runs))
    title = f"{BENCHMARK_TITLES[name]}: {axis}"
    return figure(title, line_chart(series, across, score_axis(metric), f"{title}, {metric} for each k"))


def embedding_chart(facts: Mapping[str, Any], part: str) -> Markup:
    """The task embeddings of tasks with one start, coloured by the row or the column of their end."""
    dots = embedding_dots(facts, part)
    title = f"{TITLES[facts['method']]}: {part} of the end, R² = {facts['r2'][part]:.2f}"
    label = f"Two principal components of {len(dots)} task embeddings, marked by the {part} of the end"
    return figure(capitalised(title), scatter(dots, label))


def embedding_dots(facts: Mapping[str, Any], part: str) -> list[Dot]:
    """The points of a map of task embeddings, with the row or the column of each task's end."""
    return [
        Dot(one["x"], one["y"], one[part], f"end in row {one['row']}, column {one['column']}")
        for one in facts["points"]
    ]
