"""Runs of TAM on the plain benchmarks, beside the paper's TAM."""

import math
import re
from collections.abc import Iterable, Iterator

from blocks.results import BENCHMARKS, Facts, Results
from blocks.runs import best_part, scores_of, settings_words, steps_of, time_words, widths_of
from blocks.table import table
from blocks.words import DIGITS, SCALE, UNIT, as_printed, capitalised, k_heads, listed, number, score

KINDS = {
    "best": "preset `best`",
    "long": "tuned, longer",
    "tuned": "tuned",
    "paper": "preset `paper`",
    "quick": "preset `quick`",
}
"""The kinds of runs that are shown beside the paper's, in their order."""
LENGTHS = ("tuned", "short", "earlier", "best", "long")
"""The kinds of runs that are compared by their number of steps."""


def runs(results: Results) -> str:
    """The runs beside the paper's, in bold where they are better."""
    rows = []
    for name, title in BENCHMARKS.items():
        metric, paper = results.metric(name), results.paper_rows(name)["tam"]
        printed = [
            f"{as_printed(metric, mean)} ± {as_printed(metric, error)}{UNIT[metric]}"
            for mean, error in zip(paper["mean"], paper["error"], strict=True)
        ]
        rows.append([f"{title}, {metric}", "the paper's TAM", "", *printed])
        for kind, run in shown_runs(results, name):
            shown = {k: score(metric, value) for k, value in scores_of(run, metric).items()}
            shown |= {k: f"**{shown[k]}**" for k in _better(results, name, run)}
            rows.append(["", f"{KINDS[kind]}: {settings_words(run)}", time_words(run), *shown.values()])
    return table(["", "", "training time", *k_heads(results.shots)], rows, left=(0, 1))


def ahead(results: Results) -> str:
    """Where each kind of run is better than the paper's TAM."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    tried: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name, title in BENCHMARKS.items():
        for kind, run in shown_runs(results, name):
            tried[kind].append(title.lower())
            if shots := _better(results, name, run):
                clear = [str(k) for k, clearly in shots.items() if clearly]
                words = f" (clearly at k = {listed(clear)})" if clear else ""
                found[kind].append(f"on {title.lower()} at k = {listed([str(k) for k in shots])}{words}")
    lines = [
        f"- {capitalised(KINDS[kind])}: {listed(where) if where else 'nowhere'}"
        + (f" (run on {listed(tried[kind])} alone)." if len(tried[kind]) < len(BENCHMARKS) else ".")
        for kind, where in found.items()
        if tried[kind]
    ]
    clearly = (
        "Clearly is by more than the paper's error bar and than the 95 % interval of our score over the test "
        "tasks."
    )
    return "\n".join(["Better than the paper's TAM, in bold in the table:", "", *lines, "", clearly])


def intervals(results: Results) -> str:
    """How wide the intervals of the runs are."""
    rows = []
    for name, title in BENCHMARKS.items():
        metric = results.metric(name)
        each = [widths_of(run, metric) for _, run in shown_runs(results, name)]
        found = [[widths[k] for widths in each if k in widths] for k in results.shots]
        spans = [
            " to ".join(f"± {score(metric, end(of))}" for end in (min, max)) if of else "–" for of in found
        ]
        rows.append([f"{title}, {metric}", *spans])
    return table(["", *k_heads(results.shots)], rows)


def lengths(results: Results) -> str:
    """Runs that differ in their number of steps, in supports and in rate, the shortest first."""
    rows = []
    for name, title in BENCHMARKS.items():
        metric = results.metric(name)
        found = sorted(shown_runs(results, name, LENGTHS), key=lambda one: steps_of(one[1]))
        for place, (kind, run) in enumerate(found):
            parts = [best_part(run, k) for k in results.shots] if "gpu_seconds" in run else ["not known"]
            rows.append(
                [
                    "" if place else f"{title}, {metric}",
                    number(steps_of(run)),
                    f"`{kind}`",
                    run["config"]["settings"]["support"],
                    f"{run['config']['training']['rate']:g}",
                    " · ".join(parts),
                    *(score(metric, value) for value in scores_of(run, metric).values()),
                ]
            )
    head = ["", "outer steps", "kind", "supports", "rate", "best weights at each k after"]
    return table([*head, *k_heads(results.shots)], rows, left=(0, 2, 3))


def shown_runs(results: Results, name: str, kinds: Iterable[str] = KINDS) -> Iterator[tuple[str, Facts]]:
    """The runs on a benchmark of some kinds, with their kinds."""
    for kind in kinds:
        for file, run in results.runs.items():
            if re.fullmatch(rf"tam-{kind}-{name}-\d+", file):
                yield kind, run


def _better(results: Results, name: str, run: Facts) -> dict[int, bool]:
    """The k at which a run is better than the paper's TAM as printed, and whether clearly.

    Clearly is by more than the paper's error bar and than our interval over tasks.
    """
    metric, paper = results.metric(name), results.paper_rows(name)["tam"]
    scale, digits, sign = SCALE[metric], DIGITS[metric], 1 if metric == "accuracy" else -1
    printed = dict(zip(results.shots, zip(paper["mean"], paper["error"], strict=True), strict=True))
    found: dict[int, bool] = {}
    widths = widths_of(run, metric)
    for k, value in scores_of(run, metric).items():
        mean, error = printed[k]
        margin = round(sign * (round(scale * value, digits) - mean), digits + 1)
        if margin > 0:
            found[k] = margin > max(error, scale * widths.get(k, math.inf))
    return found
