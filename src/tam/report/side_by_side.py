"""Compare runs side by side: a table for each set of test tasks, with differences and floors."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tam.evaluation.comparison import difference
from tam.evaluation.protocol import KShotScore
from tam.report.table import table


class Compared(NamedTuple):
    """The scores of a run on one test split."""

    data: str
    """Identifies the data: runs are compared if this and the title are equal."""
    title: str
    run: str
    kind: str
    scores: Sequence[KShotScore]
    floors: Mapping[str, Sequence[KShotScore]]


def comparison(runs: Sequence[Compared]) -> str:
    """Tables of accuracies with 95 % intervals over tasks, and of differences from the first run."""
    groups: dict[tuple[str, str], list[Compared]] = {}
    for run in runs:
        groups.setdefault((run.data, run.title), []).append(run)
    return "\n\n".join(_group(members) for members in groups.values())


def _group(runs: Sequence[Compared]) -> str:
    shots = sorted({score.k for run in runs for score in run.scores})
    first, rows = {score.k: score for score in runs[0].scores}, list[list[str]]()
    for run in runs:
        rows.append([run.run, *_cells(run.scores, shots)])
        if run is not runs[0]:
            rows.append(["  difference", *_differences(run.scores, first, shots)])
    best: dict[str, dict[int, KShotScore]] = {}
    for run in runs:
        for name, scores in run.floors.items():
            best.setdefault(name, {}).update({score.k: score for score in scores})
    rows += [[f"floor: {name}", *_cells(list(scores.values()), shots)] for name, scores in best.items()]
    metric = "accuracy" if runs[0].kind == "classification" else "exact match"
    return f"{runs[0].title}\n{table([f'{metric} at k =', *map(str, shots)], rows)}"


def _cells(scores: Sequence[KShotScore], shots: Sequence[int]) -> list[str]:
    by_k = {score.k: score for score in scores}
    return [_percent(by_k[k].accuracy, by_k[k].interval("accuracy")) if k in by_k else "–" for k in shots]


def _differences(
    scores: Sequence[KShotScore], first: Mapping[int, KShotScore], shots: Sequence[int]
) -> list[str]:
    """Differences from the first run, task by task; `*` marks those that are clearly not 0."""
    cells = dict.fromkeys(shots, "–")
    for score in scores:
        if score.k in first:
            found = difference([score], [first[score.k]])
            cells[score.k] = _percent(found.mean, found.interval, "+") + (" *" if found.is_clear else "")
    return list(cells.values())


def _percent(value: float, interval: float, sign: str = "") -> str:
    width = "" if interval != interval else f" ± {100 * interval:.1f}"  # NaN for a single task
    return f"{100 * value:{sign}.1f}{width} %"
