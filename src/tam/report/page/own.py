"""The page of a user's own runs, side by side."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tam import __version__
from tam.config.config import differing
from tam.errors import counted
from tam.io import infinite_if_none, json_text
from tam.report.compare import Estimate
from tam.report.curve import CEILING, OURS, TITLES, rows_of
from tam.report.own_runs import OwnRun
from tam.report.page.axis import Axis
from tam.report.page.chart import Point, Series, line_chart
from tam.report.page.html import Markup, figure, figures, html_table, made_by, page, paragraph, section, tag
from tam.report.page.scores import against_k, cell, exact, k_axis, legend, point, score_axis
from tam.report.words import UNIT, better_is, capitalised, k_heads, number, score_words
from tam.tasks.task import metric_of

_SHAPES = ("circle", "square", "diamond", "triangle")
_COLOURS, _LETTERS = 8, 18
"""Number of run colours in `chart.css`, and the longest label that fits into a chart."""


def own_page(runs: Sequence[OwnRun]) -> str:
    """The whole page: a section for each task set, then the settings."""
    groups = _by_tasks(runs)
    parts = [_scores(group, place) for place, group in enumerate(groups)]
    labels = ", ".join(run.label for run in runs)
    words = counted(len(runs), "run")
    unfinished = [run.label for run in runs if run.result is None]
    note = f" Not finished: {', '.join(unfinished)}." if unfinished else ""
    lead = f"{words} on {counted(len(groups), 'task set')}. Errors are 95 % intervals over test tasks.{note}"
    title = tag("h1", labels if len(runs) < 4 else f"{words} side by side")
    header = tag("header", title, paragraph(lead, class_="lead"))
    return page(f"tam: {labels}", header, [*parts, _settings(runs)], f"Made by tam {__version__}.")


def _by_tasks(runs: Sequence[OwnRun]) -> list[list[OwnRun]]:
    """Group runs by task set; an unfinished run joins the first group with the same source."""
    groups: dict[tuple[str, str], list[OwnRun]] = {}
    for run in sorted(runs, key=lambda run: run.result is None):
        source = json_text(dict(sorted(run.tasks.items())))
        known = "" if run.result is None else run.result["fingerprint"]
        key = next((key for key in groups if not known and key[0] == source), (source, known))
        groups.setdefault(key, []).append(run)
    return list(groups.values())


def _metric(group: Sequence[OwnRun]) -> str:
    """The metric of a task set; accuracy, which all tasks have, if its kind is not known yet."""
    kinds = [run.result["kind"] for run in group if run.result is not None]
    return metric_of([*kinds, group[0].tasks.get("name", "classification")][0])


def _title(tasks: Mapping[str, Any]) -> str:
    if "path" in tasks:
        return f"Your tasks: {Path(tasks['path']).name}"
    form = ", compositional" if tasks.get("compositional") else ""
    return f"{capitalised(str(tasks['name']))}{form}, seed {tasks.get('seed', 0)}"


def _scores(group: Sequence[OwnRun], place: int) -> Markup:
    """The section of one task set: test scores, then training curves."""
    metric, first = _metric(group), group[0]
    parts = [paragraph(f"Test tasks, {metric}: {better_is(metric)}.")]
    if any(run.result is not None for run in group):
        parts.append(figures(_against_k(group, metric)))
    if len(group) > 1:
        parts.append(legend(first.label))
    repeat = ("python", "-m", "tam", "run")
    commands = (
        shlex.join([*repeat, f"{run.folder}/config.json", "--out", f"{run.folder}-again"]) for run in group
    )
    parts += [_score_table(group, metric), made_by(*commands)]
    if any(run.records for run in group):
        parts += [tag("h3", "Training"), figures(*_training(group, metric))]
    return section(f"tasks-{place}", _title(first.tasks), *parts)


def _others(group: Sequence[OwnRun]) -> dict[str, dict[int, float]]:
    """Scores of the paper's methods on these tasks and, last, the ceiling, if known."""
    known: dict[str, dict[int, float]] = {}
    for run in group:
        if run.result is not None:
            known |= {name: row for name, row in rows_of(run.result).items() if name != OURS}
    return dict(sorted(known.items(), key=lambda row: row[0] == CEILING))


def _shots(group: Sequence[OwnRun], metric: str) -> list[int]:
    return sorted({k for run in group for k in (*run.scores(metric), *run.config.protocol.shots)})


def _against_k(group: Sequence[OwnRun], metric: str) -> Markup:
    shots = _shots(group, metric)
    series = []
    for name, row in _others(group).items():
        known = exact({k: value for k, value in row.items() if k in shots})
        series.append(against_k(name, metric, known, "ceiling" if name == CEILING else "paper-best", ""))
    for place, run in enumerate(group):
        series.append(_line(run, place, against_k("", metric, run.scores(metric), "").points))
    label = f"{metric} on the test tasks against k"
    chart = line_chart(series, k_axis(metric, shots), score_axis(metric), label)
    return figure("A new task from k examples", chart)


def _line(run: OwnRun, place: int, points: Sequence[Point], *, marked: bool = True) -> Series:
    """The line of a run, with the same look in all charts."""
    label = run.label if len(run.label) <= _LETTERS else f"{run.label[: _LETTERS - 1]}…"
    marker = _SHAPES[place % len(_SHAPES)] if marked else ""
    return Series(label, points, f"r{place % _COLOURS}", marker)


def _score_table(group: Sequence[OwnRun], metric: str) -> Markup:
    """A row for each run, compared with the first, then the paper's and the ceiling."""
    shots, first = _shots(group, metric), group[0].scores(metric)
    rows: list[list[str]] = []
    for run in group:
        ours, base = run.scores(metric), {} if run is group[0] else first
        cells = (cell(metric, ours.get(k), base.get(k) if k in ours else None, "first run") for k in shots)
        rows.append([run.label, *cells, f"{number(run.steps)} steps"])
    for name, row in _others(group).items():
        rows.append([name, *(score_words(metric, row[k]) if k in row else "–" for k in shots), ""])
    head = [f"{metric}{UNIT[metric] and ', %'}", *k_heads(shots), "training"]
    return html_table(head, rows, f"{metric} of each run on the test tasks")


def _training(group: Sequence[OwnRun], metric: str) -> Iterator[Markup]:
    """Losses against steps, and validations against steps and against seconds."""
    steps, seconds, quality = Axis("outer steps"), Axis("seconds of training"), score_axis(metric)
    losses = [
        _line(run, place, [Point(one["step"], one["loss"]) for one in run.losses], marked=False)
        for place, run in enumerate(group)
    ]
    if values := [p.y for line in losses for p in line.shown]:
        wide = min(values) > 0 and max(values) / min(values) > 10
        chart = line_chart(losses, steps, Axis("loss", log=wide), "training loss against outer steps")
        yield figure("Training loss", chart)
    shots = _shots(group, metric)
    for k, x in (*((k, steps) for k in shots), (shots[-1], seconds)):
        lines = [
            _line(run, place, list(_validations(run, metric, k, timed=x is seconds)))
            for place, run in enumerate(group)
        ]
        if any(line.shown for line in lines):
            label = f"validation {metric} at k = {k} against {x.label}"
            title = f"Validation, k = {k}{', against time' if x is seconds else ''}"
            yield figure(title, line_chart(lines, x, quality, label))


def _validations(run: OwnRun, metric: str, k: int, *, timed: bool) -> Iterator[Point]:
    for one in run.validations:
        if (scores := one["valid"].get(str(k))) is not None:
            x = run.seconds_at(one["step"]) if timed else one["step"]
            value = Estimate(infinite_if_none(scores[metric]), None, 1)
            yield point(metric, x, value, f"step {one['step']}")


def _settings(runs: Sequence[OwnRun]) -> Markup:
    """Facts about each run, and the settings in which runs differ."""
    rows = [[name, *map(_plain, values)] for name, values in _facts(runs).items()]
    first, *_ = configs = [run.config.to_json() for run in runs]
    changes = [differing(first, config) for config in configs]
    for name in dict.fromkeys(name for change in changes for name in change):
        if name not in ("method", "device", "seed"):
            base = next(change[name][0] for change in changes if name in change)
            rows.append([name, *(_plain(change[name][1] if name in change else base) for change in changes)])
    words = "The runs, and the settings in which they differ." if len(runs) > 1 else "The run."
    listing = html_table(["", *(run.label for run in runs)], rows, "The runs and their settings", "words")
    return section("settings", "Runs", paragraph(words), listing)


def _facts(runs: Sequence[OwnRun]) -> dict[str, list[object]]:
    results = [run.result or {} for run in runs]
    return {
        "folder": [run.folder for run in runs],
        "method": [TITLES.get(run.config.method, run.config.method) for run in runs],
        "tasks": [_title(run.tasks) for run in runs],
        "seed": [run.config.seed for run in runs],
        "state": [_state(run) for run in runs],
        "seconds": [result.get("seconds") for result in results],
        "parameters": [
            number(result["parameters"]) if "parameters" in result else None for result in results
        ],
        **{name: [result.get(name) for result in results] for name in ("device", "torch", "commit")},
    }


def _state(run: OwnRun) -> str:
    if run.result is None:
        return f"not finished: step {number(run.steps)} of {number(run.config.training.steps)}"
    return f"finished {str(run.result.get('finished', ''))[:10]}".strip()


def _plain(value: object) -> str:
    return "–" if value is None else str(value)
