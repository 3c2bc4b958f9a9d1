"""The paper's Tables 1 and 2: all methods, ours beside the paper's, and how many cells are better."""

from collections import Counter

from blocks.results import Results
from blocks.words import NOT_RUN, mean_score, table
from tam.experiments.jobs import stem
from tam.report.collect import BENCHMARK_TITLES, ROWS, Facts, estimates_of
from tam.report.compare import VERDICTS, Verdict
from tam.report.curve import TITLES
from tam.report.words import as_printed, in_prose, k_heads, span

_TABLES = {"table1": "Table 1, every method", "table2": "Table 2, compositional tasks"}


def tables(results: Results, group: str) -> str:
    """A table of every benchmark: all methods that were run, in one of the paper's tables."""
    parts = []
    for name, title in BENCHMARK_TITLES.items():
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
        f"{run['budget_seconds']:.0f} on {BENCHMARK_TITLES[name].lower()}": None
        for name in BENCHMARK_TITLES
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
    runs_of = {what: results.runs_of(stem(what, group, name)) for what, _, _ in ROWS[group]}
    scores = {what: estimates_of(runs, metric) for what, runs in runs_of.items()}
    best = max if metric == "accuracy" else min
    top = {k: best((row[k].mean for row in scores.values() if k in row), default=None) for k in results.shots}
    rows = []
    for what, title, in_paper in ROWS[group]:
        if not (found := scores[what]):
            continue
        paper = paper_rows.get(in_paper or "")
        cells = []
        for place, k in enumerate(results.shots):
            shown = mean_score(metric, found[k]) if k in found else "–"
            shown = f"**{shown}**" if k in found and found[k].mean == top[k] else shown
            theirs = "" if paper is None else f"\u00a0({as_printed(metric, paper['mean'][place])})"
            cells.append(shown + theirs)
        steps = [run["steps"] for run in runs_of[what]]
        overtrained = all(map(_is_overtrained, runs_of[what]))
        trained = f"{span(steps)}{' †' * overtrained}" if any(steps) else "–"
        link = f"[{title}](methods/{what}.md)" if group == "table1" and what in TITLES else title
        rows.append([link, trained, *cells])
    return rows


def _is_overtrained(run: Facts) -> bool:
    """Whether the first of several validations was the best at every k."""
    first = run["config"]["training"]["validate_every"]
    return first < run["steps"] and all(step <= first for step in run["best_steps"].values())


def conclusions(results: Results) -> str:
    """One line per comparison with the paper."""
    lines = [f"- **TAM with our settings** against the paper's TAM: {_counts(results.headline_verdicts())}."]
    for group, title in _TABLES.items():
        found = list(results.verdicts(group))
        words = _counts([each for *_, each in found])
        worse = _worse(results, group)
        lines.append(f"- **{title}** against the same method in the paper: {words}.{worse}")
    return "\n".join(lines) if results.runs else NOT_RUN


def _counts(verdicts: list[Verdict]) -> str:
    counts = Counter(verdicts)
    if counts["missing"] == len(verdicts):
        return f"none of its {len(verdicts)} cells is run yet"
    parts = [f"{counts[each]} {each}" for each in VERDICTS if counts[each]]
    return f"of {len(verdicts)} cells, {in_prose(parts)}"


def _worse(results: Results, group: str) -> str:
    """List the cells that are worse, by method and benchmark."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, method, k, each in results.verdicts(group):
        if each == "worse":
            found.setdefault((method, name), []).append(str(k))
    if not found:
        return ""
    order = [title for _, title, _ in ROWS[group]]
    by_method = sorted(found.items(), key=lambda one: order.index(one[0][0]))
    parts = [
        f"{method}, {BENCHMARK_TITLES[name].lower()} at k = {in_prose(ks)}"
        for (method, name), ks in by_method
    ]
    return f" Worse: {'; '.join(parts)}."
