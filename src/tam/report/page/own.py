"""The page of a user's own runs, side by side."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tam import __version__
from tam.config.config import differing
from tam.io import infinite_if_none, json_text
from tam.report.compare import Estimate
from tam.report.curve import CEILING, OURS, TITLES, rows_of
from tam.report.own_runs import OwnRun
from tam.report.page.axis import Axis
from tam.report.page.chart import Point, Series, line_chart
from tam.report.page.html import (
    Markup,
    figure,
    figures,
    html_table,
    made_by,
    page,
    paragraph,
    section,
    tag,
)
from tam.report.page.scores import (
    against_k,
    cell,
    estimate_words,
    exact,
    k_axis,
    legend,
    mark,
    point,
    score_axis,
)
from tam.report.words import UNIT, better_is, capitalised, k_heads, number, score_words
from tam.tasks.task import metric_of

_LOOKS = 8
_SHAPES = ("circle", "square", "diamond", "triangle")
_MOST_LETTERS = 18


def own_page(runs: Sequence[OwnRun]) -> str:
    """The whole page: a part for each task set, then the settings."""
    groups = _by_tasks(runs)
    parts = [_scores(group, place) for place, group in enumerate(groups)]
    words = f"{len(runs)} runs" if len(runs) > 1 else "1 run"
    unfinished = [run.label for run in runs if run.result is None]
    note = f" Not finished: {', '.join(unfinished)}." if unfinished else ""
    header = tag(
        "header",
        tag("h1", ", ".join(run.label for run in runs) if len(runs) < 4 else f"{words} side by side"),
        paragraph(
            f"{words} on {len(groups)} task set{'s' if len(groups) > 1 else ''}. "
            f"Errors are 95 % intervals over test tasks.{note}",
            class_="lead",
        ),
    )
    title = f"tam: {', '.join(run.label for run in runs)}"
    return page(title, header, [*parts, _settings(runs)], f"Made by tam {__version__}.")


def _by_tasks(runs: Sequence[OwnRun]) -> list[list[OwnRun]]:
    """The runs by task set; one that is not finished goes to the first with the same source."""
    groups: dict[tuple[str, str], list[OwnRun]] = {}
    finished = [run for run in runs if run.result is not None]
    for run in [*finished, *(run for run in runs if run.result is None)]:
        source = json_text(dict(sorted(run.tasks.items())))
        known = [key for key in groups if key[0] == source]
        fingerprint = known[0][1] if run.result is None and known else ""
        fingerprint = fingerprint if run.result is None else run.result["fingerprint"]
        groups.setdefault((source, fingerprint), []).append(run)
    return list(groups.values())


def _metric(group: Sequence[OwnRun]) -> str:
    for run in group:
        if run.result is not None:
            return metric_of(run.result["kind"])
    return metric_of(group[0].tasks.get("name", ""))


def _title(tasks: Mapping[str, Any]) -> str:
    if "path" in tasks:
        return f"Your tasks: {Path(tasks['path']).name}"
    form = ", compositional" if tasks.get("compositional") else ""
    return f"{capitalised(str(tasks['name']))}{form}, seed {tasks.get('seed', 0)}"


def _scores(group: Sequence[OwnRun], place: int) -> Markup:
    """The part of one task set: test scores, then how training went."""
    metric, first = _metric(group), group[0]
    parts: list[str] = [paragraph(f"Test tasks, {metric}: {better_is(metric)}.")]
    if any(run.result is not None for run in group):
        parts.append(figures(_against_k(group, metric)))
    if len(group) > 1:
        parts.append(legend(first.label))
    parts.append(_score_table(group, metric))
    parts.append(made_by(*(_repeat(run) for run in group)))
    if any(run.records for run in group):
        parts += [tag("h3", "Training"), figures(*_training(group, metric))]
    return section(f"tasks-{place}", _title(first.tasks), *parts)


def _repeat(run: OwnRun) -> str:
    """The command that repeats a run."""
    return shlex.join(
        ["python", "-m", "tam", "run", f"{run.folder}/config.json", "--out", f"{run.folder}-again"]
    )


def _others(group: Sequence[OwnRun]) -> dict[str, dict[int, float]]:
    """What the paper's methods and the ceiling have on these tasks, if known."""
    found: dict[str, dict[int, float]] = {}
    for run in group:
        if run.result is not None:
            found |= {name: row for name, row in rows_of(run.result).items() if name != OURS}
    ceiling = found.pop(CEILING, None)
    return found | ({} if ceiling is None else {CEILING: ceiling})


def _shots(group: Sequence[OwnRun], metric: str) -> list[int]:
    return sorted({k for run in group for k in (*run.scores(metric), *run.config.protocol.shots)})


def _against_k(group: Sequence[OwnRun], metric: str) -> Markup:
    shots = _shots(group, metric)
    series = []
    for name, row in _others(group).items():
        known = exact({k: value for k, value in row.items() if k in shots})
        series.append(against_k(name, metric, known, "ceiling" if name == CEILING else "paper-best", ""))
    series += [
        against_k(_short(run.label), metric, run.scores(metric), f"r{place % _LOOKS}", _shape(place))
        for place, run in enumerate(group)
    ]
    label = f"{metric} on the test tasks against k"
    return figure(
        "A new task from k examples", line_chart(series, k_axis(metric, shots), score_axis(metric), label)
    )


def _shape(place: int) -> str:
    return _SHAPES[place % len(_SHAPES)]


def _short(label: str) -> str:
    return label if len(label) <= _MOST_LETTERS else f"{label[: _MOST_LETTERS - 1]}…"


def _score_table(group: Sequence[OwnRun], metric: str) -> Markup:
    """A line for each run, compared with the first, then the paper's and the ceiling."""
    shots, first = _shots(group, metric), group[0].scores(metric)
    rows: list[list[str]] = []
    for run in group:
        ours = run.scores(metric)
        base = {} if run is group[0] else first
        cells = [_own_cell(metric, ours.get(k), base.get(k)) for k in shots]
        rows.append([run.label, *cells, f"{number(run.steps)} steps"])
    for name, row in _others(group).items():
        rows.append([name, *(score_words(metric, row[k]) if k in row else "–" for k in shots), ""])
    head = [f"{metric}{UNIT[metric] and ', %'}", *k_heads(shots), "training"]
    return html_table(head, rows, f"{metric} of each run on the test tasks")


def _own_cell(metric: str, ours: Estimate | None, first: Estimate | None) -> Markup:
    if ours is None or first is None:
        return mark("missing") if ours is None else tag("span", estimate_words(metric, ours), class_="cell")
    return cell(metric, ours, first, "first run")


def _training(group: Sequence[OwnRun], metric: str) -> Iterator[Markup]:
    """Losses against steps, and validations against steps and against seconds."""
    steps, seconds, quality = Axis("outer steps"), Axis("seconds of training"), score_axis(metric)
    losses = [_losses(run, place) for place, run in enumerate(group)]
    if any(line.shown for line in losses):
        axis = Axis("loss", log=_spread(losses))
        yield figure("Training loss", line_chart(losses, steps, axis, "training loss against outer steps"))
    shots = _shots(group, metric)
    for k in shots:
        lines = [_validation(run, place, metric, k, seconds=False) for place, run in enumerate(group)]
        if any(line.shown for line in lines):
            label = f"validation {metric} at k = {k} against outer steps"
            yield figure(f"Validation, k = {k}", line_chart(lines, steps, quality, label))
    lines = [_validation(run, place, metric, shots[-1], seconds=True) for place, run in enumerate(group)]
    if any(line.shown for line in lines):
        label = f"validation {metric} at k = {shots[-1]} against seconds of training"
        yield figure(f"Validation, k = {shots[-1]}, against time", line_chart(lines, seconds, quality, label))


def _losses(run: OwnRun, place: int) -> Series:
    points = [Point(one["step"], one["loss"]) for one in run.losses]
    return Series(_short(run.label), points, f"r{place % _LOOKS}", "")


def _spread(lines: Sequence[Series]) -> bool:
    """Whether losses span so much that a logarithmic axis shows them better."""
    values = [p.y for line in lines for p in line.shown]
    return min(values) > 0 and max(values) / min(values) > 10


def _validation(run: OwnRun, place: int, metric: str, k: int, *, seconds: bool) -> Series:
    points = []
    for one in run.validations:
        if (scores := one["valid"].get(str(k))) is not None:
            value = Estimate(infinite_if_none(scores[metric]), None, 1)
            x = run.seconds_at(one["step"]) if seconds else one["step"]
            points.append(point(metric, x, value, f"step {one['step']}"))
    return Series(_short(run.label), points, f"r{place % _LOOKS}", _shape(place))


def _settings(runs: Sequence[OwnRun]) -> Markup:
    """What each run is, and in which settings they differ."""
    rows = [[name, *values] for name, values in _facts(runs).items()]
    configs = [run.config.to_json() for run in runs]
    names = dict.fromkeys(name for config in configs for name in differing(configs[0], config))
    for name in names:
        if name not in ("method", "device", "seed"):
            values = [differing(configs[0], config).get(name) for config in configs]
            base = next(value[0] for value in values if value is not None)
            rows.append([name, *(_plain(base if value is None else value[1]) for value in values)])
    words = "What they are, and the settings in which they differ." if len(runs) > 1 else "What it is."
    listing = html_table(["", *(run.label for run in runs)], rows, "The runs and their settings", "words")
    return section("settings", "Runs", paragraph(words), listing)


def _facts(runs: Sequence[OwnRun]) -> dict[str, list[str]]:
    def of_result(name: str) -> list[str]:
        return ["–" if run.result is None else _plain(run.result.get(name)) for run in runs]

    parameters = [0 if run.result is None else run.result.get("parameters", 0) for run in runs]
    return {
        "folder": [str(run.folder) for run in runs],
        "method": [TITLES.get(run.config.method, run.config.method) for run in runs],
        "tasks": [_title(run.tasks) for run in runs],
        "seed": [str(run.config.seed) for run in runs],
        "state": [_state(run) for run in runs],
        "seconds": of_result("seconds"),
        "parameters": [number(one) if one else "–" for one in parameters],
        **{name: of_result(name) for name in ("device", "torch", "commit")},
    }


def _state(run: OwnRun) -> str:
    if run.result is None:
        return f"not finished: step {number(run.steps)} of {number(run.config.training.steps)}"
    return f"finished {str(run.result.get('finished', ''))[:10]}".strip()


def _plain(value: object) -> str:
    return "–" if value is None else str(value)
