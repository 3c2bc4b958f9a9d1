"""The paper's Tables 1 and 2: all methods, ours beside the paper's."""

from statistics import fmean

from blocks.results import BENCHMARKS, ROWS, Facts, Results
from blocks.table import table
from blocks.tam_runs import NOT_RUN
from blocks.words import mean_score
from tam.experiments.jobs import stem
from tam.report.curve import TITLES
from tam.report.words import as_printed, k_heads, span


def table1(results: Results) -> str:
    """All methods on the plain benchmarks."""
    return _tables(results, "table1")


def table2(results: Results) -> str:
    """The methods on the compositional benchmarks."""
    return _tables(results, "table2")


def _tables(results: Results, group: str) -> str:
    parts = []
    for name, title in BENCHMARKS.items():
        metric = results.metric(name)
        better = "% right, higher is better" if metric == "accuracy" else "perplexity, lower is better"
        rows = _rows(results, group, name)
        if rows:
            head = [f"{title}: {better}", "training steps", *k_heads(results.shots)]
            parts.append(table(head, rows))
    return "\n\n".join([*parts, _caption(results, group)]) if parts else NOT_RUN


def _caption(results: Results, group: str) -> str:
    """The budget and device of the trained runs."""
    runs = [run for run in results.runs.values() if run["group"] == group and run["steps"]]
    devices = " or ".join(sorted({run["device"] for run in runs}))
    seconds = {
        f"{run['budget_seconds']:.0f} on {BENCHMARKS[name].lower()}": None
        for name in BENCHMARKS
        for run in runs
        if run["tasks"]["name"] == name
    }
    early = "† Best at its first validation, after a third of the training: fewer steps should score higher."
    overtrained = f" {early}" if any(map(_is_overtrained, runs)) else ""
    budgets = f"Every method had {'the GPU-seconds of TAM' if group == 'table1' else 'equal GPU-seconds'}"
    shorter = "task-agnostic and multitask networks use few of them: more steps make them worse"
    return f"{budgets}, {', '.join(seconds)}; {shorter}. {devices}. Bold: our best in a column.{overtrained}"


def _rows(results: Results, group: str, name: str) -> list[list[str]]:
    """The rows of one benchmark, for methods that were run; our best score in a column is bold."""
    metric, paper_rows = results.metric(name), results.paper_rows(name, group == "table2")
    scores = {what: results.scores(stem(what, group, name), metric) for what, _, _ in ROWS[group]}
    top = {}
    for k in results.shots:
        means = [fmean(found[k]) for found in scores.values() if k in found]
        top[k] = (max if metric == "accuracy" else min)(means, default=None)
    rows = []
    for what, title, in_paper in ROWS[group]:
        if not (found := scores[what]):
            continue
        paper = paper_rows.get(in_paper or "")
        cells = []
        for place, k in enumerate(results.shots):
            shown = mean_score(metric, found[k]) if k in found else "–"
            shown = f"**{shown}**" if k in found and fmean(found[k]) == top[k] else shown
            theirs = "" if paper is None else f"\u00a0({as_printed(metric, paper['mean'][place])})"
            cells.append(shown + theirs)
        runs = results.runs_of(stem(what, group, name))
        steps = [run["steps"] for run in runs]
        trained = f"{span(steps)}{' †' * all(map(_is_overtrained, runs))}" if any(steps) else "–"
        link = f"[{title}](methods/{what}.md)" if group == "table1" and what in TITLES else title
        rows.append([link, trained, *cells])
    return rows


def _is_overtrained(run: Facts) -> bool:
    """Whether the first of several validations was the best at every k."""
    first = run["config"]["training"]["validate_every"]
    return first < run["steps"] and all(step <= first for step in run["best_steps"].values())
